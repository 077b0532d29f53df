"""The family's group, where both bots are: a basic group that becomes a supergroup with topics in the middle of an answer."""

from tests.system.family.model import SCRIPT
from tests.system.family.people import ANNA, BEN, EVE, FAMILY, KOI, MIA, SUPER, TOM, TRIP, becomes
from tests.system.family.stage import (
    Step,
    all_is_taken,
    calls_are_made,
    model_answers,
    model_is_asked,
    model_waits,
    step,
)

AFTERNOON: tuple[Step, ...] = (
    step(
        "what is said among people is not answered",
        TOM.says("Dinner at seven?", FAMILY),
        ANNA.says("Fine!", FAMILY),
    ),  # C42
    step(
        "whoever addresses a bot in a group that nobody approved is not answered, and the owner is asked",
        TOM.says("@koi7801_bot who cooks?", FAMILY),
        KOI.sends(
            ANNA.id,
            "“Tom” (id 103) wrote to Koi in the group “Family” (id -4001). If you allow it, everybody there may talk to me, in "
            "that group. Until then I answer there only you and people you have let in.",
            buttons=(
                (("Allow this group", "/approve group ‹code:Family›"),),
                (("Block", "/block -4001"),),
            ),
        ),
    ),
    step(
        "one tap of hers allows it, and the group hears of it",
        ANNA.taps("Allow this group"),
        KOI.hears_the_tap(),
        KOI.sends(
            ANNA.id,
            "Everybody in the group Family may talk to me there now, and has been told. In private they still have to be let in.",
            buttons=((("Block", "/block -4001"),),),
        ),
        KOI.sends(
            FAMILY.id,
            "Hello everybody! From now on all of you may talk to me here: mention me, reply to me or use a command. /help shows what I can do, /forget all removes what I remember of this group.",
        ),
    ),
    step(
        "a mention behind emoji is found, and the other bot keeps silent",
        TOM.says("😀👍🏽 @koi7801_bot we have apple cake", FAMILY),
        KOI.sends(FAMILY.id, "echo: [From Tom:]\n😀👍🏽 @koi7801_bot we have apple cake"),
    ),
    step(
        "a reply to the bot needs no mention, and koi knows who speaks",  # C42
        ANNA.replies("Again please", FAMILY),
        KOI.sends(FAMILY.id, "echo: [From Anna:]\nAgain please"),
    ),
    step(
        "a command for one bot is not the other one's",
        BEN.says("/tasks@koi7802_bot", FAMILY),
        MIA.sends(
            FAMILY.id,
            "Diese Gruppe hat keine Aufgaben. Schreibt einfach, was zu tun ist, zum Beispiel: „Setz Brot auf die Einkaufsliste.“",
        ),
    ),
    step(
        "what Ben told koi in private is not known in the group",  # C30
        BEN.says("@koi7801_bot Wer kommt Mittwoch?", FAMILY),
        KOI.sends(FAMILY.id, "Das weiß ich nicht."),
    ),
    step(
        "a group becomes a supergroup in the middle of an answer, which comes there, once; nobody is asked about it again",
        model_waits,
        TOM.says("@koi7801_bot what time is it in Lima?", FAMILY),
        model_is_asked(),
        becomes(FAMILY, SUPER, TOM),
        all_is_taken,
        BEN.says("@koi7801_bot Und in Oslo?", SUPER),
        model_is_asked(2),
        all_is_taken,
        model_answers,
        KOI.sends(SUPER.id, "echo: [From Tom:]\n@koi7801_bot what time is it in Lima?"),
        KOI.sends(SUPER.id, "echo: [Von Ben:]\n@koi7801_bot Und in Oslo?"),
    ),
    step(
        "what the group told koi before is known there",
        TOM.says("@koi7801_bot which cake?", SUPER),
        KOI.sends(SUPER.id, "Apple cake."),
    ),
    step(
        "also in a new conversation: what is remembered moved along",
        TOM.says("/new@koi7801_bot which cake?", SUPER),
        KOI.sends(SUPER.id, "Apple cake."),
    ),
    step(
        "an answer in a topic goes to that topic, which has a memory of its own",  # C41
        ANNA.says("@koi7801_bot which cake?", TRIP),
        KOI.sends(SUPER.id, "I know of no cake.", message_thread_id=77),
    ),
    step(
        "/stop in a topic ends what is written there",
        model_waits,
        TOM.says("@koi7801_bot a long story", TRIP),
        model_is_asked(),
        TOM.says("/stop@koi7801_bot", TRIP),
        calls_are_made(1),
        model_answers,
        KOI.sends(SUPER.id, "Stopped, before I had written anything.", message_thread_id=77),
    ),
)

EVENING: tuple[Step, ...] = (
    step(
        "the other bot has a name and a manner of its own",
        ANNA.says("Who are you?", MIA),
        MIA.sends(ANNA.id, "I am Mia, hurray!"),
    ),
    step(
        "and shares the memory: it knows what Ben told Koi",
        BEN.says("Wer kommt Mittwoch?", MIA),
        MIA.sends(BEN.id, "Oma."),
    ),
    step(
        "but not with Anna", ANNA.says("Who comes on Wednesday?", MIA), MIA.sends(ANNA.id, "I do not know.")
    ),
    step(
        "code that is too long for a message is a file",
        ANNA.says("Please number the steps"),
        KOI.sends(ANNA.id, "Here you are:\n\n📎 code.py"),
        KOI.uploads(ANNA.id, "code.py", SCRIPT),
        KOI.sends(ANNA.id, "Run it once.", entities=[{"type": "bold", "offset": 7, "length": 4}]),
    ),
    step(
        "the stranger comes again; the owner is asked",
        EVE.says("Hello?"),
        KOI.sends(
            EVE.id,
            "Hello Eve! I only talk to people my owner has let in. I have just asked: tell them the code ‹code:Eve›, so that they "
            "know it is you. As soon as they agree you will hear from me here. (The code is good for an hour.)",
        ),
        KOI.sends(
            ANNA.id,
            "“Eve” (id 666) would like to talk to Koi. Their code is ‹code:Eve›, good for an hour. Names can be made up: if you "
            "are not sure, ask them for the code.",
            buttons=(
                (("Let in", "/approve ‹code:Eve›"), ("As a guest", "/approve ‹code:Eve› guest")),
                (("Block", "/block 666"),),
            ),
        ),
    ),
    step(
        "one tap of hers blocks the stranger",
        ANNA.taps("Block"),
        KOI.hears_the_tap(),
        KOI.sends(
            ANNA.id, "Eve is blocked and gets no answer any more.", buttons=((("Unblock", "/unblock 666"),),)
        ),
    ),
    step("who is not answered any more", EVE.says("Hello?!"), EVE.says("/start", MIA)),
    step(
        "whoever chooses another language hears koi in it",
        BEN.says("/language en"),
        KOI.sends(BEN.id, "From now on we speak English."),
    ),
    step(
        "from then on",
        BEN.says("/tasks"),
        KOI.sends(BEN.id, "1 open task\n\n• Brot · Einkauf · t1", buttons=((("Brot", "/tasks t1"),),)),
    ),
)

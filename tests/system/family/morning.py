"""Koi belongs to nobody yet. A stranger comes first, then Anna, its owner, and Ben, whom she lets in."""

from tests.system.family.people import ANNA, BEN, EVE, KOI, MIA
from tests.system.family.stage import Step, bots_are_started, step

MENU = "new stop retry memory forget why model usage tasks memos agenda facts project language timezone rich whoami help start"
IN_GROUPS = "new stop retry memory forget why model tasks memos agenda project whoami help"
OWNERS = f"status people approve block {MENU}"
PRIVATE, GROUPS, OWNER = (
    {"type": "all_private_chats"},
    {"type": "all_group_chats"},
    {"type": "chat", "chat_id": ANNA.id},
)

BEGINNING = step(
    "both bots introduce themselves to Telegram",
    bots_are_started,
    *(
        call
        for bot in (KOI, MIA)
        for call in (
            bot.calls("getMe"),
            bot.calls("deleteWebhook"),
            bot.offers(PRIVATE, MENU),
            bot.offers(PRIVATE, MENU, "de"),
            bot.offers(GROUPS, IN_GROUPS),
            bot.offers(GROUPS, IN_GROUPS, "de"),
        )
    ),
)

MORNING: tuple[Step, ...] = (
    BEGINNING,
    step(
        "a stranger is told that koi belongs to nobody",
        EVE.says("/start"),
        KOI.sends(
            EVE.id,
            "I belong to nobody yet. Did you set me up? Then send me the pairing code that koi shows. (Your number: 666)",
        ),
    ),
    step(
        "a stranger may try three codes; the fourth is not even answered",
        *(EVE.says(code) for code in ("AAAA-2222", "BBBB-3333", "CCCC-4444", "DDDD-5555")),
        *3
        * [
            KOI.sends(
                EVE.id, "That is not the pairing code. After three wrong ones I listen again in an hour."
            )
        ],
    ),
    step(
        "whoever sends the code that the console shows owns koi, and is offered the owner's commands",
        ANNA.sends_the_pairing_code(),
        KOI.sends(
            ANNA.id,
            "Hello Anna, I am yours now. Just write to me; what we talk about I remember for a day. /help tells the rest.",
        ),
        *(bot.offers(OWNER, OWNERS, language) for bot in (KOI, MIA) for language in ("", "de")),
    ),
    step(
        "at first contact koi says what it remembers, and what it takes for language and time zone",
        ANNA.says("/start"),
        KOI.sends(
            ANNA.id,
            "Hello! Just write to me; /help shows what else I can do.\n"
            "• For 24 h I remember what we talked about, also when you come back later.\n"
            "• My answers come from 127.0.0.1: what you write is sent there.\n"
            "• /forget all deletes at once what I remember.\n\nI take your language to be English and your time zone Europe/Berlin (‹time› now).",
            buttons=(
                (("That is right", "/profile en Europe/Berlin"),),
                (("Language", "/language"), ("Time zone", "/timezone")),
            ),
        ),
    ),
    step(
        "a guess is confirmed by a tap",
        ANNA.taps("That is right"),
        KOI.hears_the_tap(),
        KOI.sends(ANNA.id, "Good: English, Europe/Berlin. /language and /timezone change it."),
    ),
    step("a question is answered", ANNA.says("Good morning!"), KOI.sends(ANNA.id, "echo: Good morning!")),
    step(
        "who is not let in gets a code, and the owner is asked with the same one",
        BEN.says("Darf ich auch?"),
        KOI.sends(
            BEN.id,
            "Hallo Ben! Ich rede nur mit Leuten, die mein Besitzer eingelassen hat. Ich habe gerade nachgefragt: Nenn ihm den "
            "Code ‹code:Ben›, damit er weiß, dass du es bist. Sobald er zustimmt, hörst du hier von mir. (Der Code gilt eine Stunde.)",
        ),
        KOI.sends(
            ANNA.id,
            "“Ben” (id 102) would like to talk to Koi. Their code is ‹code:Ben›, good for an hour. Names can be made up: if you "
            "are not sure, ask them for the code.",
            buttons=(
                (("Let in", "/approve ‹code:Ben›"), ("As a guest", "/approve ‹code:Ben› guest")),
                (("Block", "/block 102"),),
            ),
        ),
    ),
    step(
        "one tap of hers lets him in, and both hear of it, each in their language",
        ANNA.taps("Let in"),
        KOI.hears_the_tap(),
        KOI.sends(
            ANNA.id, "Ben is let in (member) and has been told.", buttons=((("Block", "/block 102"),),)
        ),
        KOI.sends(
            BEN.id,
            "Gute Nachricht, Ben: Du bist eingelassen. Schreib mir einfach; worüber wir reden, merke ich mir einen Tag lang. "
            "/forget all löscht es, den Rest zeigt dir /help.",
        ),
    ),
    step(
        "at his first contact koi speaks German",
        BEN.says("/start"),
        KOI.sends(
            BEN.id,
            "Hallo! Schreib mir einfach; /help zeigt dir, was ich sonst noch kann.\n"
            "• 24 Std. lang weiß ich noch, worüber wir gesprochen haben, auch wenn du später wiederkommst.\n"
            "• Meine Antworten kommen von 127.0.0.1: Was du schreibst, wird dorthin gesendet.\n"
            "• /forget all löscht sofort, was ich mir gemerkt habe.\n\nIch nehme an, deine Sprache ist Deutsch und deine "
            "Zeitzone Europe/Berlin (dort ist es ‹time›).",
            buttons=(
                (("Stimmt so", "/profile de Europe/Berlin"),),
                (("Sprache", "/language"), ("Zeitzone", "/timezone")),
            ),
        ),
    ),
)

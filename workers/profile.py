"""How a person wants to be talked to: their language and time zone. Pure, but for loading what knows where zones lie."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from babel.dates import format_time

from infra import keys
from infra.cut import cut
from infra.effect import Effect
from schemas.inbound import InboundMessage
from schemas.profile import Profile
from schemas.reply import Button
from schemas.wire import NotReadable, dump, load
from workers.languages import KOI_SPEAKS, code_of, language_name, own_name
from workers.outgoing import is_local
from workers.said import Said
from workers.texts import say, spoken
from workers.zones import found_zone, likely_zones, matching, named, zone_at

ARGUMENT_CHARS = 40
AUTO = frozenset({"auto", "telegram", "-"})


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks, and what is known of them."""

    message: InboundMessage
    """Its language is theirs: see `with_profile`."""
    profile: Profile
    house: tzinfo
    """koi's own zone: Services.zone."""
    now_ms: int

    @property
    def language(self) -> str:
        return self.message.language

    @property
    def zone(self) -> ZoneInfo:
        return zone_for(self.profile, self.house)


def read_profile(raw: bytes | None) -> Profile:
    """`GET keys.profile(user_id)`; nothing set, if there is none or it cannot be read.

    Raises: NewerVersion: hand the lane back.
    """
    try:
        return Profile() if raw is None else load(Profile, raw)
    except NotReadable:
        return Profile()


def with_profile(message: InboundMessage, profile: Profile) -> InboundMessage:
    """The message in the language that its sender chose."""
    if not profile.language or profile.language == message.language:
        return message
    return message.model_copy(update={"language": profile.language})


def language_for(profile: Profile, message: InboundMessage) -> str:
    """Two letters: what the person chose, else that of their Telegram."""
    return profile.language or message.language


def zone_for(profile: Profile, house: tzinfo) -> ZoneInfo:
    """The person's zone, else koi's own; always one with a name (`key`)."""
    return found_zone(profile.zone) or named(house)


def profile_effect(user_id: str, profile: Profile) -> Effect:
    """Store it; it holds nothing that was said, so it belongs to Said.effects."""
    return Effect("SET", keys.profile(user_id), (dump(profile),))


# ── /language ────────────────────────────────────────────────────────────────────────────────────────────────────
def language_said(person: Person) -> Said:
    """The answer to /language, with or without one."""
    argument = person.message.argument
    if not argument:
        return _language_shown(person)
    if argument.casefold() in AUTO:
        return _changed(person, _auto_line(person), language="")
    code = code_of(argument, person.language)
    if code is None:
        text = say(
            person.language, "I know no language “{argument}”. Write two letters, for example /language fr.",
            argument=cut(argument, ARGUMENT_CHARS),
        )  # fmt: skip
        return Said(text, _language_buttons())
    return _changed(person, _language_set(code), language=code)


def _language_shown(person: Person) -> Said:
    language = person.language
    name = language_name(language, language)
    if person.profile.language:
        shown = say(language, "Your language: {language}.", language=name)
    elif is_local(person.message.bot_id):
        shown = say(language, "Your language: {language}, as koi is set up.", language=name)
    else:
        shown = say(language, "Your language: {language}, as in your Telegram.", language=name)
    lines = [
        shown,
        say(language, "For another one write two letters, for example /language fr."),
    ]
    return Said("\n".join(lines), _language_buttons())


def _auto_line(person: Person) -> str:
    if is_local(person.message.bot_id):
        return say(person.language, "From your next message on I take the language that koi is set up with.")
    return say(person.language, "From your next message on I take the language that your Telegram has.")


def _language_set(code: str) -> str:
    if spoken(code) == code:
        return say(code, "From now on we speak {language}.", language=language_name(code, code))
    return say(
        code,
        "From now on I answer in {language}. What koi itself says, such as this line, I only have in English and German.",
        language=language_name(code, code),
    )


def _language_buttons() -> tuple[tuple[Button, ...], ...]:
    return (tuple(Button(text=own_name(code), command=f"/language {code}") for code in KOI_SPEAKS),)


# ── /timezone ────────────────────────────────────────────────────────────────────────────────────────────────────
def timezone_said(person: Person) -> Said:
    """The answer to /timezone, with or without one."""
    argument, language = person.message.argument, person.language
    if not argument:
        return _zone_shown(person)
    found = matching(argument, language)
    match found:
        case ():
            text = say(
                language,
                "I know no time zone “{argument}”. Write a capital, a country, or a name like Europe/Berlin, or send me "
                "your location.",
                argument=cut(argument, ARGUMENT_CHARS),
            )  # fmt: skip
            return Said(text, _zone_buttons(likely_zones(language, person.zone)))
        case (name,):
            return _zone_set(person, name)
        case _:
            return Said(say(language, "Which one do you mean?"), _zone_buttons(found))


def place_in(messages: Sequence[InboundMessage]) -> tuple[float, float] | None:
    """Latitude and longitude of the newest location that the sender did not get from somebody else."""
    for message in reversed(messages):
        if message.latitude is not None and message.longitude is not None and not message.forwarded_from:
            return message.latitude, message.longitude
    return None


async def place_said(person: Person, latitude: float, longitude: float) -> Said:
    """The answer to a location that was sent."""
    name = await asyncio.to_thread(zone_at, latitude, longitude)
    if not name:
        return Said(say(person.language, "I do not know which time zone this place is in."))
    return _zone_set(person, name)


def _zone_shown(person: Person) -> Said:
    language = person.language
    values = {"zone": person.zone.key, "time": clock_of(person.now_ms, person.zone, language)}
    lines = [
        say(language, "Your time zone is {zone}, where it is {time}.", **values)
        if person.profile.zone
        else say(
            language, "I do not know your time zone and use koi's: {zone}, where it is {time}.", **values
        ),
        say(language, "For another one write /timezone and a city or country, or send me your location."),
    ]
    return Said("\n".join(lines), _zone_buttons(likely_zones(language, person.zone)))


def _zone_set(person: Person, name: str) -> Said:
    zone, before = ZoneInfo(name), person.profile.zone
    text = say(
        person.language, "Your time zone is now {zone}, where it is {time}.",
        zone=name, time=clock_of(person.now_ms, zone, person.language),
    )  # fmt: skip
    said = _changed(person, text, zone=name)
    if before in {"", name}:
        return said
    back = say(person.language, "Back to {zone}", zone=before)
    return replace(said, buttons=((Button(text=back, command=f"/timezone {before}"),),))


def _zone_buttons(names: tuple[str, ...]) -> tuple[tuple[Button, ...], ...]:
    return tuple((Button(text=name.replace("_", " "), command=f"/timezone {name}"),) for name in names)


# ── first contact ────────────────────────────────────────────────────────────────────────────────────────────────
def guess_said(person: Person) -> Said | None:
    """What koi takes for the language and zone of somebody who never said, to be confirmed; a line and buttons for the
    answer to /start. None: they said; or others read along.
    """
    if person.profile != Profile() or person.message.chat_kind == "group":
        return None
    language, zone = person.language, person.zone
    text = say(
        language, "I take your language to be {language} and your time zone {zone} ({time} now).",
        language=language_name(language, language), zone=zone.key, time=clock_of(person.now_ms, zone, language),
    )  # fmt: skip
    right = Button(text=say(language, "That is right"), command=f"/profile {language} {zone.key}")
    others = (
        Button(text=say(language, "Language"), command="/language"),
        Button(text=say(language, "Time zone"), command="/timezone"),
    )
    return Said(text, ((right,), others))


def profile_said(person: Person) -> Said:
    """The answer to `/profile de Europe/Berlin`, which "That is right" sends; alone it shows both."""
    code, _, name = person.message.argument.partition(" ")
    zone = found_zone(name.strip())
    if code_of(code, person.language) != code or zone is None:
        shown = (_language_shown(person), _zone_shown(person))
        return Said("\n".join(said.text.partition("\n")[0] for said in shown), shown[0].buttons)
    text = say(
        code, "Good: {language}, {zone}. /language and /timezone change it.",
        language=language_name(code, code), zone=zone.key,
    )  # fmt: skip
    return _changed(person, text, language=code, zone=zone.key)


def clock_of(at_ms: int, zone: tzinfo, language: str) -> str:
    """ "14:23"."""
    local = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)
    return format_time(local, "HH:mm", locale=spoken(language))


def _changed(person: Person, text: str, **changes: str) -> Said:
    profile = person.profile.model_copy(update=changes)
    return Said(text, effects=(profile_effect(person.message.user_id, profile),))

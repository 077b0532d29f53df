"""A person's language and time zone: said, guessed, shown, changed."""

import subprocess
import sys
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import Any, cast
from zoneinfo import TZPATH, ZoneInfo

import pytest

from infra import keys
from schemas.inbound import InboundMessage
from schemas.profile import Profile
from schemas.wire import NewerVersion, load
from tests.workers.stage import APRIL_5_14_23, BERLIN
from workers.languages import code_of, english_name, language_name, own_name
from workers.profile import (
    Person,
    guess_said,
    language_for,
    language_said,
    place_in,
    place_said,
    profile_said,
    read_profile,
    timezone_said,
    with_profile,
    zone_for,
)
from workers.said import Said
from workers.zones import likely_zones, matching, named, zone_at


def message(argument: str = "", language: str = "en", **fields: Any) -> InboundMessage:
    values: dict[str, Any] = {
        "bot_id": "7",
        "bot": "b",
        "chat_id": "42",
        "user_id": "42",
        "sent_at_ms": 1,
        **fields,
    }
    return InboundMessage(id="7:1", argument=argument, language=language, **values)


def person(
    argument: str = "", *, language: str = "en", zone: str = "", chosen: str = "", **fields: Any
) -> Person:
    profile = Profile(language=chosen, zone=zone)
    return Person(
        with_profile(message(argument, language, **fields), profile), profile, BERLIN, APRIL_5_14_23
    )


def stored(said: Said) -> Profile:
    """What the answer changes."""
    (effect,) = said.effects
    assert (effect.command, effect.key) == ("SET", keys.profile("42"))
    return load(Profile, cast("bytes", effect.args[0]))


def commands(said: Said) -> list[str]:
    assert all(len(button.command.encode()) <= 64 for row in said.buttons for button in row)
    return [button.command for row in said.buttons for button in row]


# ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("raw", [None, b"", b"no json", b"[]", b'{"v":1,"language":7}'])
def test_what_cannot_be_read_is_nobody_known(raw: bytes | None) -> None:
    assert read_profile(raw) == Profile()


def test_a_profile_of_a_newer_release_is_left_to_it() -> None:
    with pytest.raises(NewerVersion):
        read_profile(b'{"v":2,"tone":"dry"}')


def test_the_language_that_was_chosen_goes_before_that_of_telegram() -> None:
    asked = message(language="en")

    assert with_profile(asked, Profile(language="fr")).language == "fr"
    assert with_profile(asked, Profile()) is asked
    assert (language_for(Profile(language="fr"), asked), language_for(Profile(), asked)) == ("fr", "en")


@pytest.mark.parametrize(("zone", "name"), [("Asia/Tokyo", "Asia/Tokyo"), ("", "Europe/Berlin"), ("Mars/Base", "Europe/Berlin"), ("/etc/passwd", "Europe/Berlin"), ("Europe", "Europe/Berlin")])  # fmt: skip
def test_a_zone_that_is_not_known_is_koi_s(zone: str, name: str) -> None:
    assert zone_for(Profile(zone=zone), BERLIN).key == name


def test_a_zone_without_a_name_is_given_that_of_one_with_the_same_times() -> None:
    with (Path(next(path for path in TZPATH if Path(path).is_dir())) / "Europe/Berlin").open("rb") as copy:
        nameless = ZoneInfo.from_file(copy)

    assert zone_for(Profile(), nameless).key == "Europe/Berlin"
    assert named(UTC).key == "UTC"
    assert named(timezone(timedelta(minutes=7))).key == "UTC"
    assert named(timezone(timedelta(hours=5, minutes=45))).key == "Asia/Kathmandu"


# ── /language ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_language_alone_shows_it_and_offers_koi_s_own() -> None:
    said = language_said(person(language="de"))

    assert said.text.startswith("Deine Sprache: Deutsch, wie in deinem Telegram.")
    assert [(b.text, b.command) for b in said.buttons[0]] == [
        ("Deutsch", "/language de"),
        ("English", "/language en"),
    ]
    assert language_said(person(chosen="de", language="en")).text.startswith("Deine Sprache: Deutsch.\n")
    assert said.effects == ()


def test_in_a_terminal_nobody_speaks_of_telegram() -> None:
    shown = language_said(person(language="de", bot_id="local-work"))
    back = language_said(person("auto", chosen="de", bot_id="local"))

    assert shown.text.startswith("Deine Sprache: Deutsch, wie für koi eingestellt.")
    assert (
        back.text
        == "Ab deiner nächsten Nachricht richte ich mich nach der Sprache, die für koi eingestellt ist."
    )


@pytest.mark.parametrize("typed", ["de", "DE", "de-AT", "German", "deutsch"])
def test_a_language_is_set_by_code_or_name_and_answered_in_it(typed: str) -> None:
    said = language_said(person(typed, zone="Asia/Tokyo"))

    assert stored(said) == Profile(language="de", zone="Asia/Tokyo")
    assert said.text == "Ab jetzt sprechen wir Deutsch."


def test_a_language_that_koi_does_not_speak_itself_is_set_and_that_is_said() -> None:
    said = language_said(person("fr", language="de"))

    assert stored(said).language == "fr"
    assert said.text.startswith("From now on I answer in French. What koi itself says")


@pytest.mark.parametrize("typed", ["xx", "klingon", "d", "\0", "deu", "x" * 4000])
def test_what_is_no_language_changes_nothing(typed: str) -> None:
    said = language_said(person(typed))

    assert said.effects == ()
    assert said.text.startswith("I know no language “")
    assert len(said.text) < 150
    assert commands(said) == ["/language de", "/language en"]


def test_the_language_of_telegram_can_be_gone_back_to() -> None:
    assert stored(language_said(person("auto", chosen="de", zone="Asia/Tokyo"))) == Profile(zone="Asia/Tokyo")


def test_names_of_languages() -> None:
    assert [language_name(code, "de") for code in ("en", "pt-BR", "xx")] == [
        "Englisch",
        "Portugiesisch",
        "xx",
    ]
    assert [own_name(code) for code in ("de", "fr", "xx")] == ["Deutsch", "Français", "xx"]
    assert [english_name(code) for code in ("de-AT", "tl", "", "\0")] == [
        "German",
        "Tagalog",
        "English",
        "English",
    ]
    assert [code_of(typed, "fr") for typed in ("allemand", "Englisch", "")] == ["de", "en", None]


# ── /timezone ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_timezone_alone_shows_it_with_the_time_there() -> None:
    guessed, known = timezone_said(person()), timezone_said(person(zone="Asia/Tokyo", language="de"))

    assert guessed.text.startswith(
        "I do not know your time zone and use koi's: Europe/Berlin, where it is 14:23."
    )
    assert known.text.startswith("Deine Zeitzone ist Asia/Tokyo, dort ist es 21:23.")
    assert commands(known) == [
        f"/timezone {name}" for name in ("Asia/Tokyo", "Europe/Berlin", "Europe/Vienna", "Europe/Zurich")
    ]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("Wien", "Europe/Vienna"),
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("Kiev", "Europe/Kyiv"),
        ("Deutschland", "Europe/Berlin"),
        ("germany", "Europe/Berlin"),
        ("utc", "UTC"),
    ],
)
def test_a_zone_is_set_by_its_name_its_city_or_its_country(typed: str, name: str) -> None:
    assert stored(timezone_said(person(typed, chosen="de"))) == Profile(language="de", zone=name)


def test_the_new_zone_is_confirmed_with_its_time_and_the_old_one_is_a_tap_away() -> None:
    said = timezone_said(person("tokyo", zone="Europe/Berlin"))

    assert said.text == "Your time zone is now Asia/Tokyo, where it is 21:23."
    assert commands(said) == ["/timezone Europe/Berlin"]
    assert commands(timezone_said(person("tokyo"))) == []


@pytest.mark.parametrize("typed", ["new", "united states"])
def test_what_may_mean_several_zones_is_asked_for(typed: str) -> None:
    said = timezone_said(person(typed))

    assert said.effects == ()
    assert said.text == "Which one do you mean?"
    assert "/timezone America/New_York" in commands(said)
    assert 2 <= len(commands(said)) <= 8


@pytest.mark.parametrize("typed", ["Atlantis", "../../etc/passwd", "\0", "💤", "x" * 4000])
def test_what_is_no_zone_changes_nothing(typed: str) -> None:
    said = timezone_said(person(typed))

    assert said.effects == ()
    assert said.text.startswith("I know no time zone “")
    assert len(said.text) < 200


@pytest.mark.parametrize("language", ["de", "en", "tr", "zh", "id", "aa", "xx", ""])
def test_the_likely_zones_are_few_and_begin_with_the_present_one(language: str) -> None:
    zones = likely_zones(language, BERLIN)

    assert zones[0] == "Europe/Berlin"
    assert len(zones) <= 8
    assert all(matching(name, language) == (name,) for name in zones)


# ── a location ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("place", "name"),
    [((52.52, 13.405), "Europe/Berlin"), ((40.7, -74.0), "America/New_York"), ((0.0, -30.0), "Etc/GMT+2")],
    ids=["land", "west", "sea"],
)
async def test_a_location_sets_the_zone_of_its_place(place: tuple[float, float], name: str) -> None:
    said = await place_said(person(zone="Asia/Tokyo"), *place)

    assert stored(said).zone == name
    assert said.text.startswith(f"Your time zone is now {name}, where it is ")
    assert commands(said) == ["/timezone Asia/Tokyo"]


async def test_a_place_without_a_zone_changes_nothing() -> None:
    said = await place_said(person(), 999.0, 999.0)

    assert said == Said("I do not know which time zone this place is in.")
    assert zone_at(float("nan"), 0) == ""


def sent(latitude: float, longitude: float, forwarded_from: str = "") -> InboundMessage:
    return message(latitude=latitude, longitude=longitude, forwarded_from=forwarded_from)


def test_only_the_sender_s_own_newest_location_counts() -> None:
    assert place_in([sent(1, 2), sent(3, 4), message()]) == (3, 4)
    assert place_in([sent(1, 2), sent(3, 4, "Max")]) == (1, 2)
    assert place_in([sent(0, 0)]) == (0, 0)
    assert place_in([message()]) is None


def test_what_knows_where_zones_lie_is_loaded_by_the_first_location_only() -> None:
    script = "import sys, workers.main, workers.turn; print('tzfpy' in sys.modules)"

    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert printed.stdout == "False\n"


# ── first contact ────────────────────────────────────────────────────────────────────────────────────────────────
def test_at_first_contact_language_and_zone_are_guessed_and_one_tap_sets_both() -> None:
    said = guess_said(person(language="de"))

    assert said is not None
    assert (
        said.text
        == "Ich nehme an, deine Sprache ist Deutsch und deine Zeitzone Europe/Berlin (dort ist es 14:23)."
    )
    assert commands(said) == ["/profile de Europe/Berlin", "/language", "/timezone"]
    confirmed = profile_said(person("de Europe/Berlin", language="de"))
    assert stored(confirmed) == Profile(language="de", zone="Europe/Berlin")
    assert confirmed.text == "Gut: Deutsch, Europe/Berlin. Mit /language und /timezone änderst du es."


def test_nothing_is_guessed_of_whoever_said_it_nor_in_front_of_others() -> None:
    assert guess_said(person(chosen="de")) is None
    assert guess_said(person(zone="Asia/Tokyo")) is None
    assert guess_said(person(chat_kind="group")) is None


@pytest.mark.parametrize("argument", ["", "de", "de Mars/Base", "xx Europe/Berlin", "Deutsch Europe/Berlin"])
def test_profile_with_anything_else_only_shows_both(argument: str) -> None:
    said = profile_said(person(argument))

    assert said.effects == ()
    assert "Your language: English" in said.text
    assert "Europe/Berlin, where it is 14:23" in said.text

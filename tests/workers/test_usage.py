"""/usage, and how money is shown."""

from zoneinfo import ZoneInfo

import pytest

from infra import keys
from infra.redis_port import RedisPort
from infra.settings import MoneySettings
from llm.request import CallEnded
from llm.request import Usage as Tokens
from workers.plans import Plan
from workers.purse import UsedUp
from workers.recall import Reader
from workers.records import Recorder
from workers.usage import Spent, Usage, cost_text, load_usage, usage_text, used_up_line

BERLIN = ZoneInfo("Europe/Berlin")
APRIL_5_14_23 = 1_775_391_780_000
APRIL_6_00_00 = 1_775_426_400_000
GERMAN, ENGLISH = Reader("de", BERLIN, APRIL_5_14_23), Reader("en", BERLIN, APRIL_5_14_23)
EUROS = MoneySettings(currency="EUR", rate=0.9)
FREE = Plan("free", messages_per_day=20, microusd_per_month=500_000, models=frozenset({"haiku"}))


def plain(text: str) -> str:
    """Amounts keep together with their currency; here a space will do."""
    return text.replace("\xa0", " ")


async def test_what_was_recorded_is_loaded_for_the_day_and_the_month(redis: RedisPort) -> None:
    now_ms = APRIL_5_14_23 - 24 * 3_600_000
    recorder = Recorder(redis, lambda: now_ms, zone=BERLIN)
    used = Tokens(1_000, 200, 3_000, 50)
    for call_id, model in (("c1", "claude-sonnet-5-5"), ("c2", "mystery")):
        ended = CallEnded(call_id, "anthropic", model, "answered", 1, used)
        recorder.ended(ended, turn_id="t", lane="l", user_id="42")
    await recorder.flush()
    await redis.hset(keys.spent("42", "2026-04-05"), "messages", 7)

    usage = await load_usage(redis, "42", APRIL_5_14_23, BERLIN)

    month = Spent(messages=7, answers=2, tokens=8_500, microusd=2_000 + 500 + 300 + 500, unpriced=1)
    assert usage == Usage(Spent(messages=7), month)


async def test_who_used_nothing_used_0(redis: RedisPort) -> None:
    usage = await load_usage(redis, "42", APRIL_5_14_23, BERLIN)

    assert plain(usage_text(usage, None, EUROS, GERMAN)) == (
        "Heute: 0 Antworten · 0 Tokens · 0,00 €\nApril: 0 Antworten · 0 Tokens · 0,00 €"
    )


def test_usage_shows_today_the_month_what_is_unknown_and_what_the_plan_leaves() -> None:
    usage = Usage(Spent(7, 1, 12_345, 3_100), Spent(0, 41, 2_003_450, 120_000, 2))

    assert plain(usage_text(usage, FREE, EUROS, GERMAN)).splitlines() == [
        "Heute: 1 Antwort · 12.345 Tokens · 0,0028 €",
        "April: 41 Antworten · 2.003.450 Tokens · 0,11 €",
        "2 Aufrufe dieses Monats haben keinen bekannten Preis und fehlen in der Summe.",
        "Plan free: 7 von 20 Nachrichten heute, neue ab 06.04. 00:00",
        "Plan free: 0,34 € von 0,45 € für diesen Monat übrig, wieder alles ab 01.05. 00:00",
        "Plan free: nur haiku",
    ]
    assert usage_text(usage, FREE, MoneySettings(), ENGLISH).splitlines() == [
        "Today: 1 answer · 12,345 tokens · $0.0031",
        "April: 41 answers · 2,003,450 tokens · $0.12",
        "2 calls of this month have no known price and are not in the sum.",
        "Plan free: 7 of 20 messages today, new ones from 6 Apr, 00:00 on",
        "Plan free: $0.38 of $0.50 left this month, all of it again from 1 May, 00:00 on",
        "Plan free: only haiku",
    ]


def test_limits_that_a_plan_does_not_have_are_not_shown() -> None:
    assert "Plan" not in usage_text(Usage(Spent(), Spent()), Plan("free"), EUROS, ENGLISH)


@pytest.mark.parametrize(
    ("microusd", "money", "german", "english"),
    [
        (None, EUROS, "unbekannt", "unknown"),
        (0, EUROS, "0,00 €", "€0.00"),
        (1, EUROS, "0,0000009 €", "€0.0000009"),
        (3_444, EUROS, "0,0031 €", "€0.0031"),
        (16_555, EUROS, "0,015 €", "€0.015"),
        (1_333_333, EUROS, "1,20 €", "€1.20"),
        (1_234_567_890, MoneySettings(), "1.234,57 $", "$1,234.57"),
        (3_100, MoneySettings(currency="JPY", rate=155), "0,48 ¥", "¥0.48"),
        (310_000, MoneySettings(currency="JPY", rate=155), "48 ¥", "¥48"),
    ],
)
def test_money_is_readable_at_any_size(
    microusd: int | None, money: MoneySettings, german: str, english: str
) -> None:
    shown = [plain(cost_text(microusd, money, language)) for language in ("de-AT", "en")]

    assert shown == [german, english]


@pytest.mark.parametrize(
    ("used_up", "german", "english"),
    [
        (
            UsedUp("messages", APRIL_6_00_00, limit=20),
            "Dein Plan erlaubt 20 Nachrichten am Tag, und die von heute sind verbraucht. Ab 06.04. 00:00 antworte ich wieder.",
            "Your plan allows 20 messages a day, and today's are used up. From 6 Apr, 00:00 on I answer again.",
        ),
        (
            UsedUp("messages", APRIL_6_00_00, limit=20, left=1),
            "Dein Plan hat für heute noch 1 Nachricht, weniger als du gerade geschickt hast. Ab 06.04. 00:00 sind es wieder mehr.",
            "Your plan has 1 message left for today, fewer than you just sent. From 6 Apr, 00:00 on there are more.",
        ),
        (
            UsedUp("money", APRIL_6_00_00),
            "Was dein Plan für diesen Monat erlaubt, ist verbraucht. Ab 06.04. 00:00 antworte ich wieder.",
            "What your plan allows for this month is used up. From 6 Apr, 00:00 on I answer again.",
        ),
        (
            UsedUp("models"),
            "Dein Plan erlaubt keines der Modelle dieses Bots. Sein Besitzer kann das ändern.",
            "Your plan allows none of the models of this bot. Its owner can change that.",
        ),
    ],
)  # fmt: skip
def test_who_used_up_their_plan_hears_when_it_renews(used_up: UsedUp, german: str, english: str) -> None:
    assert used_up_line("de", used_up, BERLIN) == german
    assert used_up_line("en", used_up, BERLIN) == english

"""Every number of the pages beside what a run counted itself."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from statistics import fmean

import httpx

from bench.dashboard_run import BOTS, PRICES, TOKENS, Call, Truth, bot_of
from bench.dashboard_seen import Tile, agrees, region, rows, text, tiles

MICRO = 1_000_000
TOKEN_ROWS = {
    "read, not cached": "input", "written to the cache": "cache_write", "read from the cache": "cache_read", "written": "output",
}  # fmt: skip
PAGE_SIZE = 25


@dataclass(slots=True)
class Compared:
    """What was looked at, and what differs."""

    count: int = 0
    differing: list[str] = field(default_factory=list[str])

    def number(self, what: str, said: str, *expected: float | None) -> None:
        """A text has exactly these numbers."""
        self.count += len(expected)
        if not agrees(said, expected):
            wanted = ", ".join(str(one) for one in expected)
            self.differing.append(f"{what}: {said!r}, counted {wanted}")

    def same(self, what: str, said: object, expected: object) -> None:
        """Something that is no number on a line of its own."""
        self.count += 1
        if said != expected:
            self.differing.append(f"{what}: {said!r}, counted {expected!r}")


@dataclass(frozen=True, slots=True)
class Figures:
    """What follows from the counts."""

    truth: Truth

    @property
    def answered(self) -> int:
        """Messages, by models or by koi."""
        return len(self.truth.by_models) + self.truth.commands.total()

    @property
    def fallback(self) -> int:
        return len(self.truth.answered_by("second"))

    @property
    def sizes(self) -> list[int]:
        """Exchanges of each conversation: one of each person who got an answer."""
        return sorted(len(answers) for answers in self.truth.answers.values())

    @property
    def in_conversations(self) -> list[int]:
        """What each conversation cost whose calls all have a price, micro-dollars."""
        by_person = Counter[int]()
        for call in self.answering:
            by_person[call.user_id] += call.microusd or 0
        return [by_person[one] for one in self.truth.answers if bot_of(one) == "home"]

    @property
    def answering(self) -> list[Call]:
        return [call for call in self.truth.calls if call.status == HTTPStatus.OK]

    @property
    def unpriced(self) -> list[Call]:
        return [call for call in self.answering if call.microusd is None]

    def cost(self, calls: Iterable[Call]) -> float | None:
        """Dollars; None: none of them has a price."""
        found = [call.microusd for call in calls]
        known = sum(microusd or 0 for microusd in found)
        return known / MICRO if known or None not in found else None

    def share(self, part: int, whole: int) -> float | None:
        return 100 * part / whole if whole else None


async def compare(client: httpx.AsyncClient, truth: Truth) -> Compared:
    """All pages, with nothing waiting and nothing running."""
    compared, figures = Compared(), Figures(truth)
    check_now((await client.get("/")).text, figures, compared)
    await check_messages(client, figures, compared)
    check_failed((await client.get("/failed")).text, figures, compared)
    await check_chats(client, figures, compared)
    await check_memory(client, figures, compared)
    check_costs((await client.get("/costs?range=today")).text, figures, compared)
    await check_people(client, figures, compared)
    check_system((await client.get("/system")).text, compared)
    check_metrics((await client.get("/metrics")).text, figures, compared)
    return compared


def check_now(html: str, f: Figures, compared: Compared) -> None:
    found, number = tiles(html), compared.number
    failed = len(f.truth.failed)
    _tile(compared, found, "Waiting", (0,), ())
    _tile(compared, found, "Running", (0,), (50,))
    retried = (f.truth.failed_attempts, failed) if failed else (f.truth.failed_attempts,)
    _tile(compared, found, "Failed today", (failed,), retried)
    p90 = f.sizes[ceil(0.9 * len(f.sizes)) - 1]
    _tile(compared, found, "Exchanges/conversation", (fmean(f.sizes),), (p90, len(f.sizes)))
    cost = f.cost(f.answering)
    notes = (cost, cost, len(f.unpriced)) if f.unpriced else (cost, cost)
    _tile(compared, found, "Cost/conversation", (fmean(f.in_conversations) / MICRO,), notes)
    rate = f.share(f.fallback, f.answered)
    _tile(compared, found, "Fallback rate", (rate,), (rate,))
    said = region(html, "strip").rpartition(" answered today")
    number("Now, answered today", said[0].split(". ")[-1], f.answered)
    number("Now, this month", said[2], cost)
    label = re.search(r'id="per-minute"[^>]*aria-label="([^"]*)"', html)
    hour = text(label[1]).partition(":")[2] if label else ""
    number("Now, the last hour", hour, f.answered, f.fallback, failed)


def _tile(
    compared: Compared,
    found: Mapping[str, Tile],
    name: str,
    value: Sequence[float | None],
    note: Sequence[float | None],
) -> None:
    tile = found.get(name, Tile("no such tile", ""))
    compared.number(name, tile.value, *value)
    compared.number(f"{name}, below", tile.note, *note)


async def check_messages(client: httpx.AsyncClient, f: Figures, compared: Compared) -> None:
    """How many turns each search finds: an answer to two messages is one."""
    truth, person = f.truth, min(f.truth.answers)
    answers = [one for answers in truth.answers.values() for one in answers]
    second = sum(one.startswith("second:") for one in answers)
    lines, failed = truth.commands.total(), len(truth.failed)
    mine = len(truth.answers[person]) + truth.commands[person]
    mine += sum(truth.asked[number] == person for number in truth.failed)
    searches = {
        "": len(answers) + lines + failed,
        "state:answered": len(answers) + lines,
        "state:fallback": second,
        "state:failed": failed,
        "model:second": second,
        "-state:answered": failed,
        f"chat:{person}": mine,
        "bot:lab": sum(bot_of(one) == "lab" for one in truth.answers for _ in truth.answers[one])
        + sum(n for one, n in truth.commands.items() if bot_of(one) == "lab")
        + sum(bot_of(truth.asked[number]) == "lab" for number in truth.failed),
    }
    for said, expected in searches.items():
        html = (await client.get("/messages", params={"q": said})).text
        shown = re.search(r"(\d+) to (\d+) of ([\d,]+)", text(html))
        compared.number(f"Messages, {said or 'all'}", shown[3] if shown else "0", expected)


def check_failed(html: str, f: Figures, compared: Compared) -> None:
    failed = len(f.truth.failed)
    shown = re.search(r"([\d,]+) messages? (?:Older )?Try all", text(html))
    compared.number("Failed", shown[1] if shown else "0", failed)
    badge = re.search(r'<span class="count failed">([^<]*)<', html)
    compared.number("Failed, in the rail", badge[1] if badge else "0", failed)
    compared.same("Failed, rows", len(rows(html, "Given up")), min(failed, PAGE_SIZE))


async def check_chats(client: httpx.AsyncClient, f: Figures, compared: Compared) -> None:
    truth, seen = f.truth, 0
    failed = Counter(truth.asked[number] for number in truth.failed)
    written = Counter(truth.asked.values()) + truth.commands
    by_second = Counter(truth.asked[number] for number in truth.answered_by("second"))
    async for row in _pages(client, "/chats"):
        person, seen = int(row["Chat"].split()[0]), seen + 1
        answered = written[person] - failed[person]
        what = f"Chats, {person}"
        expected = [written[person], failed[person]] if failed[person] else [written[person]]
        compared.number(f"{what}, messages", row["Messages"], *expected)
        rate = f.share(by_second[person], answered)
        compared.number(f"{what}, fallback", row["Fallback rate"], rate)
        cost = f.cost(call for call in f.answering if call.user_id == person)
        compared.number(f"{what}, cost", row["Cost"], cost)
        exchanges = row["Conversation"].split()[0]
        compared.number(f"{what}, exchanges", exchanges, len(truth.answers.get(person, ())))
    compared.same("Chats", seen, len(written))


async def check_memory(client: httpx.AsyncClient, f: Figures, compared: Compared) -> None:
    """Each answer is remembered, twenty of a person."""
    seen = 0
    async for row in _pages(client, "/memory"):
        person, seen = int(row["Whose"].split()[0]), seen + 1
        compared.number(f"Memory, {person}", row["Entries"], min(20, len(f.truth.answers[person])))
    compared.same("Memories", seen, len(f.truth.answers))


def check_costs(html: str, f: Figures, compared: Compared) -> None:
    found, calls, cost = tiles(html), f.truth.calls, f.cost(f.answering)
    free = len(f.unpriced)
    _tile(compared, found, "Today", (cost,), (free,) if free else ())
    _tile(compared, found, "This month", (cost,), ())
    _tile(compared, found, "31 days", (cost,), (len(calls),))
    known = f.in_conversations
    without = len(f.sizes) - len(known)
    notes = (len(f.sizes), without) if without else (len(f.sizes),)
    _tile(compared, found, "Cost / conversation", (fmean(known) / MICRO,), notes)
    _tile(compared, found, "From the cache", (_cached(f, calls),), ())
    failing = sum(call.status >= HTTPStatus.INTERNAL_SERVER_ERROR for call in calls)
    _tile(compared, found, "Calls that failed", (failing,), (len(calls),))
    strips = text(html.partition('id="cost-notes"')[2].partition('id="cost-tiles"')[0])
    if free:
        shown = re.search(r"\[prices\.\"free\"\] ([\d,]+) call", strips)
        compared.number("Costs, calls without a price", shown[1] if shown else "none", free)
    for model in (*PRICES, "free"):
        mine = [call for call in calls if call.model == model]
        _sums(compared, f"Costs, {model}", _row(rows(html, "Per model"), "Model", model), f, mine)
    for bot in BOTS:
        mine = [call for call in calls if bot_of(call.user_id) == bot]
        _sums(compared, f"Costs, {bot}", _row(rows(html, "Per bot"), "Bot", bot), f, mine)
    for row in rows(html, "Per person"):
        mine = [call for call in calls if call.user_id == int(row["Person"])]
        _sums(compared, f"Costs, {row['Person']}", row, f, mine)
        own = f.cost(call for call in mine if call.status == HTTPStatus.OK)
        compared.number(f"Costs, {row['Person']}, today", row["Today"], own)
    for row in rows(html, "Tokens by kind"):
        nth = TOKENS.index(TOKEN_ROWS[row["Kind"]])
        compared.number(f"Costs, {row['Kind']}", row["Tokens"], sum(call.tokens[nth] for call in calls))


def _row(found: Iterable[Mapping[str, str]], column: str, name: str) -> Mapping[str, str]:
    nothing: Mapping[str, str] = {}
    return next((row for row in found if row[column].split()[0] == name), nothing)


def _sums(compared: Compared, what: str, row: Mapping[str, str], f: Figures, calls: Sequence[Call]) -> None:
    if not calls:
        return
    answering = [call for call in calls if call.status == HTTPStatus.OK]
    cost = f.cost(answering) if answering else 0.0
    shown = row.get("Cost", "no such row").removesuffix("+ ?")
    compared.number(f"{what}, cost", shown, cost)
    compared.number(f"{what}, calls", row.get("Calls", ""), len(calls))
    compared.number(f"{what}, tokens", row.get("Tokens", ""), sum(sum(call.tokens) for call in calls))
    if "From the cache" in row:
        compared.number(f"{what}, from the cache", row["From the cache"], _cached(f, calls))


def _cached(f: Figures, calls: Iterable[Call]) -> float | None:
    read = [call.tokens[:3] for call in calls]
    return f.share(sum(one[2] for one in read), sum(map(sum, read)))


async def check_people(client: httpx.AsyncClient, f: Figures, compared: Compared) -> None:
    truth, seen = f.truth, 0
    async for row in _pages(client, "/people"):
        person = int(row["Name"].split()[-1])
        mine = [call for call in f.answering if call.user_id == person]
        if person < min(truth.answers):  # the owner, who only looks
            continue
        seen += 1
        what = f"People, {person}"
        compared.number(f"{what}, answers", row["Answers today"], len(mine))
        compared.number(f"{what}, tokens", row["Tokens today"], sum(sum(call.tokens) for call in mine))
        compared.number(f"{what}, today", row["Today"], f.cost(mine))
        month = f.cost(call for call in mine if call.microusd is not None)
        compared.number(f"{what}, month", row["This month"], month)
    compared.same("People", seen, truth.people)


def check_system(html: str, compared: Compared) -> None:
    said = region(html, "queues")
    for name, expected in (("Waiting", 0), ("Running", 0), ("Stuck", 0), ("Swept", 0)):
        found = re.search(rf"{name} ([\d,]+)", said)
        compared.number(f"System, {name}", found[1] if found else said, expected)


def check_metrics(said: str, f: Figures, compared: Compared) -> None:
    truth, found = f.truth, dict(line.rsplit(" ", 1) for line in said.splitlines() if line[:1] != "#")
    answers = sum(map(len, truth.answers.values()))
    expected: dict[str, float] = {
        "koi_messages_total": truth.written,
        "koi_answered_total": f.answered,
        "koi_fallback_total": f.fallback,
        "koi_failed_total": len(truth.failed),
        "koi_turns_total": answers + truth.commands.total() + len(truth.failed),
        "koi_conversations_total": len(truth.answers),
        "koi_exchanges_total": answers,
        "koi_retries_total": truth.failed_attempts,
        "koi_dead_letters": len(truth.failed),
        "koi_swept_lanes_total": 0,
        'koi_lanes{state="waiting"}': 0,
        'koi_lanes{state="busy"}': 0,
    }
    for model in PRICES:
        mine = [call for call in f.answering if call.model == model]
        expected[f'koi_cost_usd_total{{model="{model}"}}'] = f.cost(mine) or 0
    for name, number in expected.items():
        compared.same(f"/metrics, {name}", round(float(found.get(name, "nan")), 9), round(float(number), 9))


async def _pages(client: httpx.AsyncClient, path: str) -> AsyncGenerator[Mapping[str, str]]:
    """The rows of the first table of a page, and of the pages behind it."""
    number, last = 1, 1
    while number <= last:
        html = (await client.get(path, params={"page": number})).text
        heading = re.search(r"<h2>(\d[^<]*)</h2>", html)
        for row in rows(html, heading[1] if heading else ""):
            yield row
        told = re.search(r"Page \d+ of (\d+)", text(html))
        number, last = number + 1, int(told[1]) if told else 1

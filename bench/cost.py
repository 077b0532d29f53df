"""What a conversation's input costs: everything sent again uncached, koi without a cache, koi with one.

The requests are those that koi would send (workers.plan, llm.payload), with the breakpoints that they carry; tokens are
o200k's; the cache is bench.prompt_cache; the prices are the list prices. What the model is no longer shown is counted
beside it: the share of the conversation's words that its last request still has.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from random import Random
from typing import Any

import bpe_openai

from bench.prompt_cache import Block, PromptCache, Used
from bench.report import Report, arguments
from llm.candidates import FIRST_PARTY, Service
from llm.payload import parameters
from llm.pricing import cost_microusd
from llm.request import Usage
from memory.limits import MemoryLimits, SessionLimits
from memory.ratio import Ratio, learn, start
from memory.session import extend, new_exchange
from schemas.memory import Session
from workers.plan import Given, Plan, plan_turn
from workers.words import Words

SYSTEM_TOKENS, ASKED_TOKENS, ANSWERED_TOKENS = 1_500, 40, 250
EXCHANGES = (1, 5, 10, 20)
MINIMUM = 1_024
MODELS = ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5")
GOAL_MODEL, GOAL_EXCHANGES, GOAL_SHARE, GOAL_COVERAGE = "claude-sonnet-5-5", 10, 0.25, 0.01
SERVICE = Service("anthropic", can=FIRST_PARTY)
ENCODING = bpe_openai.get_encoding("o200k_base")
SYLLABLES = ["ka", "lo", "mi", "ter", "son", "ver", "den", "ta", "ri", "bel", "no", "us", "per", "an", "gre"]


def tokens(text: str) -> int:
    return len(ENCODING.encode_ordinary(text))


def prose(chance: Random, size: int) -> str:
    """Invented words, `size` tokens of them."""
    words: list[str] = []
    while tokens(" ".join(words)) < size:
        words.append("".join(chance.choice(SYLLABLES) for _ in range(chance.randint(1, 3))))
    text = " ".join(words)
    return ENCODING.decode(ENCODING.encode_ordinary(text)[:size])


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a conversation, as koi sends it and as a program would that sends everything."""

    blocks: tuple[Block, ...]
    """koi's, with breakpoints."""
    everything: int
    """Tokens of the system prompt and the whole conversation."""
    shown: float
    """Share of the earlier messages that koi's request has, by tokens."""


def conversation(model: str, exchanges: int) -> Iterator[Turn]:
    """The same words for every model and length."""
    chance = Random(1)
    system = prose(chance, SYSTEM_TOKENS)
    session: Session | None = None
    ratio, everything = start(), tokens(system)
    said: list[tuple[str, str]] = []
    for number in range(exchanges):
        question, answer = prose(chance, ASKED_TOKENS), prose(chance, ANSWERED_TOKENS)
        plan = plan_turn(given(system, session, question, ratio))
        blocks = tuple(blocks_of(parameters(plan.request, SERVICE, model)))
        everything += tokens(question)
        yield Turn(blocks, everything, share(said, plan))
        everything += tokens(answer)
        said.append((question, answer))
        ratio = learn(ratio, plan.estimated_tokens, sum(block.tokens for block in blocks))
        exchange = new_exchange(str(number), number, plan.user_text, answer, note=plan.note)
        session = extend(plan.session, exchange, (), number, SessionLimits())


def given(system: str, session: Session | None, question: str, ratio: Ratio) -> Given:
    return Given(
        words=Words(question), lane="1:1:0", language="en", system=system, session=session, entries=(),
        answer=None, memory=MemoryLimits(), limits=SessionLimits(), zone=UTC, ratio=ratio,
    )  # fmt: skip


def blocks_of(sent: dict[str, Any]) -> Iterator[Block]:
    """The content blocks of a request in the order in which a service reads them."""
    for role, content in (("system", sent["system"]), *((m["role"], m["content"]) for m in sent["messages"])):
        for block in content:
            text = block["text"]
            yield Block(f"{role}:{text}", tokens(text), "cache_control" in block)


def share(said: Sequence[tuple[str, str]], plan: Plan) -> float:
    sent = "\n".join(message.text for message in plan.request.messages)
    sizes = [(text, tokens(text)) for exchange in said for text in exchange]
    total = sum(size for _, size in sizes)
    return sum(size for text, size in sizes if text in sent) / total if total else 1.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Micro-dollars of a whole conversation."""

    everything: int
    uncached: int
    cached: int
    output: int
    tokens: tuple[int, int, Used]
    """Input tokens: everything, koi, koi by kind."""
    shown: float


def costs(model: str, exchanges: int) -> Costs:
    cache = PromptCache(MINIMUM)
    everything = uncached = cached = sent = whole = 0
    used, shown = Used(0, 0, 0), 1.0
    for turn in conversation(model, exchanges):
        one, size = cache.ask(turn.blocks), sum(block.tokens for block in turn.blocks)
        used = Used(used.plain + one.plain, used.written + one.written, used.read + one.read)
        whole, sent, shown = whole + turn.everything, sent + size, min(shown, turn.shown)
        everything += price(model, Used(turn.everything, 0, 0))
        uncached += price(model, Used(size, 0, 0))
        cached += price(model, one)
    output = price(model, Used(0, 0, 0), ANSWERED_TOKENS * exchanges)
    return Costs(everything, uncached, cached, output, (whole, sent, used), shown)


def price(model: str, used: Used, output: int = 0) -> int:
    """By list price; exact, since a call is rounded up to a whole micro-dollar."""
    found = cost_microusd("anthropic", model, Usage(used.plain, used.written, used.read, output), {})
    assert found is not None, f"no list price of {model}"
    return found


def run() -> Report:
    report = Report(
        "cost",
        [
            "model", "exchanges", "everything: tokens", "$", "koi: tokens", "$ uncached", "$ cached",
            "read", "written", "input share", "with output $", "share", "shown",
        ],
    )  # fmt: skip
    for model in MODELS:
        for exchanges in EXCHANGES:
            found = costs(model, exchanges)
            whole, sent, used = found.tokens
            input_share = found.cached / found.everything
            total, total_all = found.cached + found.output, found.everything + found.output
            report.row(
                model, exchanges, whole, usd(found.everything), sent, usd(found.uncached), usd(found.cached),
                used.read, used.written, percent(input_share), usd(total), percent(total / total_all), f"{found.shown:.2f}",
            )  # fmt: skip
            if (model, exchanges) == (GOAL_MODEL, GOAL_EXCHANGES):
                report.figures = {
                    "input_share": input_share,
                    "total_share": total / total_all,
                    "shown": found.shown,
                }
                reached = input_share <= GOAL_SHARE and found.shown >= 1 - GOAL_COVERAGE
                report.notes.append(
                    f"{'reached' if reached else 'MISSED'}: ten exchanges with Sonnet 5.5 cost {percent(input_share)} of their "
                    f"input uncached (goal 25 %), {percent(total / total_all)} with output, with {found.shown:.0%} of what was said"
                )
    report.notes.append(
        f"system prompt {SYSTEM_TOKENS:,} tokens, {ASKED_TOKENS} in and {ANSWERED_TOKENS} out each; cache from {MINIMUM:,} tokens on; "
        "shown: least share of the earlier conversation in any request"
    )
    return report


def usd(micro: int) -> str:
    return f"{micro / 1_000_000:.4f}"


def percent(share_: float) -> str:
    return f"{share_ * 100:.1f} %"


def main() -> int:
    return run().finish(arguments(__doc__ or "").parse_args().json)


if __name__ == "__main__":
    sys.exit(main())

"""What of the remembered entries goes into the block. Pure; the one place that decides it.

Everything, if it fits. Else the newest exchange gets first go at two fifths of the budget, less if the message has more
in common with an older one, and the last exchanges before the talk turned a third; then sentences of all entries are
taken, always the one that adds most for its tokens:

    Σ weight of its words that no taken sentence has · 0.97 ^ age · (1 + 10 · overlap with the message)
      · 1.6 for the person's own

Source of these numbers: docs/decisions/0010; weights and overlap: memory.weigh.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from infra.cut import cut
from memory.features import Features, entry_tokens, features_of, said
from memory.limits import MemoryLimits
from memory.tokens import estimate_tokens
from memory.topics import left_at
from memory.weigh import Weighed, weigh
from schemas.memory import RingEntry

DECAY = 0.97
"""For each exchange that came after."""
OVERLAP_GAIN = 10
OWN_GAIN = 1.6
NEWEST_SHARE, LEFT_SHARE = 0.4, 0.35
"""Of the budget, first for the newest exchange, then for the last ones before the talk turned (memory.topics)."""
LEAST_SHARE = 0.15
"""For the newest, however little the message has to do with it."""
STAMP_TOKENS, LABEL_TOKENS, GAP_TOKENS = 10, 3, 1
"""Of an entry's time, of "User:" or "Bot:" with the line's end, of " … "; roughly: what counts is measured."""
MOST_MISFITS = 30
"""So many sentences that do not fit, and no more are tried."""
LEAST_ROOM = 15
"""Tokens for which it is worth to look once more."""
GAP = " … "


@dataclass(frozen=True, slots=True)
class Quote:
    """One entry as it is quoted."""

    entry: RingEntry
    user: str
    """"" if nothing of this side is quoted; so is `reply`, never both."""
    reply: str
    left_tokens: int = 0
    """Estimate of what is not quoted."""


type Count = Callable[[Sequence[Quote]], int]
"""Tokens of a block made of these quotes, its frame included."""


def pick(entries: Sequence[RingEntry], message: str, limits: MemoryLimits, count: Count) -> tuple[Quote, ...]:
    """Quotes, oldest first, within `limits.budget_tokens` by `count`; none if not even a word would fit.

    What "select" gives was the last thing counted.

    "last": the newest `limits.last` by summary, whatever they count.
    message: what the person asks now.
    """
    if limits.strategy == "last":
        return tuple(_by_summary(entry) for entry in entries[-limits.last :])
    if not entries:
        return ()
    budget = limits.budget_tokens
    features = [features_of(entry) for entry in entries]
    if sum(one.user_tokens + one.reply_tokens for one in features) <= budget:
        whole = tuple(Quote(entry, entry.user_message, said(entry)) for entry in entries)
        if count(whole) <= budget:
            return whole
    return _chosen(entries, features, message, budget, count) or _squeezed(entries[-1], budget, count)


def _chosen(
    entries: Sequence[RingEntry], features: Sequence[Features], message: str, budget: int, count: Count
) -> tuple[Quote, ...]:
    """Sentences by gain; () if none of the newest entry fits."""
    choice = _Choice(weigh(features, message), features, count(()))
    room = budget - choice.used
    for number, share in _shares(choice.weighed, features):
        choice.fill(choice.weighed.of(number), min(budget, choice.used + round(room * share)))
        if not choice.taken:
            choice.fill(choice.weighed.of(number), budget)
        if not choice.taken:
            return ()
    quotes: tuple[Quote, ...] = ()
    for _ in range(2):  # what the rough costs left over is filled once more
        choice.fill(range(len(choice.weighed.terms)), budget)
        quotes = _quotes(entries, features, choice)
        choice.used = count(quotes)
        if budget - choice.used < LEAST_ROOM:
            break
    while choice.used > budget and choice.taken:
        choice.taken.pop()
        quotes = _quotes(entries, features, choice)
        choice.used = count(quotes)
    return quotes


def _shares(weighed: Weighed, features: Sequence[Features]) -> list[tuple[int, float]]:
    """The entries that are served first, with their part of the budget, the newest before the others.

    The newest gets less in the proportion in which an older one has more in common with the message.
    """
    last = len(features) - 1
    newest = max((weighed.overlaps[index] for index in weighed.of(last)), default=0.0)
    older = max(weighed.overlaps[: weighed.firsts[last]], default=0.0)
    share = NEWEST_SHARE if older <= newest else max(LEAST_SHARE, NEWEST_SHARE * newest / older)
    left = left_at(weighed.places, len(features))
    return [(last, share), *((number, LEFT_SHARE / len(left)) for number in left)]


class _Choice:
    """Sentences taken so far, by their index in `weighed`."""

    def __init__(self, weighed: Weighed, features: Sequence[Features], used: int) -> None:
        """used: tokens of the frame."""
        self.weighed = weighed
        self.used = used
        self.taken: list[int] = []
        self._sides = [
            2 * number + (not own) for number, own in zip(weighed.entries, weighed.own, strict=True)
        ]
        """Of each sentence: twice the number of its entry, and 1 for the bot's."""
        self._open: set[int] = set()
        """Sides of which something is taken."""
        self._costs = [
            features[entry].tokens[number] + GAP_TOKENS + LABEL_TOKENS + STAMP_TOKENS
            for entry, number in zip(weighed.entries, weighed.numbers, strict=True)
        ]
        """Of each now, with what is still missing of its entry's frame."""
        aged = [DECAY ** (len(features) - 1 - number) for number in range(len(features))]
        self._factors = [
            aged[side // 2] * (1 + OVERLAP_GAIN * overlap) * (1 if side % 2 else OWN_GAIN)
            for side, overlap in zip(self._sides, weighed.overlaps, strict=True)
        ]
        self._statements = [index for index, own in enumerate(weighed.own) if own and weighed.asked[index]]
        """The person's sentences that share something with the message."""
        worth = weighed.weights.__getitem__
        self._gains = [
            sum(map(worth, terms)) * factor
            for terms, factor in zip(weighed.terms, self._factors, strict=True)
        ]
        """As last counted: they only fall."""
        self._counted = [0] * len(self._gains)
        """How many sentences were taken when that was."""

    def fill(self, candidates: range, most_tokens: int) -> None:
        """Take the best of them, one by one, while something fits below `most_tokens`."""
        done, misfits = set(self.taken), 0
        gains, costs, own, asked = self._gains, self._costs, self.weighed.own, self.weighed.asked
        heap = [
            (-gains[index] / costs[index], -index)
            for index in candidates
            if gains[index] and index not in done
        ]
        heapify(heap)
        while heap and misfits < MOST_MISFITS:
            popped = -heappop(heap)[1]
            if popped in done:
                continue
            index = self._newest_like(popped, done) if own[popped] and asked[popped] else popped
            if self.used + costs[index] > most_tokens:
                misfits += 1
                continue
            gain = self._gain(index)
            if index != popped:
                heappush(heap, self._promise(popped))
            elif gain and heap and (now := self._promise(index)) > heap[0]:  # others are better by now
                heappush(heap, now)
                continue
            if gain or index != popped:
                done.add(index)
                for cheaper in self._take(index):
                    heappush(heap, self._promise(cheaper))

    def _newest_like(self, index: int, done: set[int]) -> int:
        """The newest of the person's statements that share as much with the message as this one of theirs does.

        What they said last on something must not yield to what they said before ("I'm vegetarian" … "I eat meat").
        """
        asked, before = self.weighed.asked, self.weighed.firsts[self.weighed.entries[index] + 1]
        wanted = asked[index]
        for other in reversed(self._statements):
            if other < before:
                break
            if asked[other] & wanted == wanted and other not in done:
                return other
        return index

    def _promise(self, index: int) -> tuple[float, int]:
        """Smallest first: the most gain for its tokens, the newest of equals."""
        return -self._gains[index] / self._costs[index], -index

    def _gain(self, index: int) -> float:
        if self._counted[index] != len(self.taken):
            self._counted[index] = len(self.taken)
            words = map(self.weighed.weights.__getitem__, self.weighed.terms[index])
            self._gains[index] = sum(words) * self._factors[index]
        return self._gains[index]

    def _take(self, index: int) -> Iterable[int]:
        """Gives those which now cost less."""
        self.used += self._costs[index]
        self.taken.append(index)
        self.weighed.weights.update(dict.fromkeys(self.weighed.terms[index], 0.0))
        side = self._sides[index]
        if side in self._open:
            return ()
        stamp = 0 if side ^ 1 in self._open else STAMP_TOKENS
        self._open.add(side)
        cheaper = self.weighed.of(side // 2)
        for other in cheaper:
            self._costs[other] -= stamp + (LABEL_TOKENS if self._sides[other] == side else 0)
        return cheaper


def _quotes(entries: Sequence[RingEntry], features: Sequence[Features], choice: _Choice) -> tuple[Quote, ...]:
    weighed, taken = choice.weighed, set(choice.taken)
    quotes: list[Quote] = []
    for number, (entry, one) in enumerate(zip(entries, features, strict=True)):
        numbers = [weighed.numbers[index] for index in weighed.of(number) if index in taken]
        if numbers:
            quotes.append(_quote(entry, one, numbers))
    return tuple(quotes)


def _quote(entry: RingEntry, one: Features, numbers: Sequence[int]) -> Quote:
    own = [number for number in numbers if number < one.user_sentences]
    return Quote(
        entry,
        _excerpt(entry.user_message, one, own, range(one.user_sentences)),
        _excerpt(said(entry), one, numbers[len(own) :], range(one.user_sentences, len(one.terms))),
        left_tokens=sum(one.tokens) - sum(one.tokens[number] for number in numbers),
    )


def _excerpt(text: str, one: Features, numbers: Sequence[int], side: range) -> str:
    """Neighbouring sentences as they stand, GAP for what is between others."""
    if not numbers:
        return ""
    if len(numbers) == len(side):
        return text
    parts: list[str] = []
    begin = before = numbers[0]
    for number in (*numbers[1:], len(one.terms) + 1):
        if number != before + 1:
            parts.append(text[one.starts[begin] : one.ends[before]])
            begin = number
        before = number
    lead = GAP.lstrip() if numbers[0] != side.start else ""
    return lead + GAP.join(parts) + (GAP.rstrip() if numbers[-1] != side.stop - 1 else "")


def _by_summary(entry: RingEntry) -> Quote:
    if len(entry.reply) <= len(entry.summary):
        return Quote(entry, entry.user_message, entry.summary)
    left = max(0, estimate_tokens(entry.reply) - estimate_tokens(entry.summary))
    return Quote(entry, entry.user_message, f"{entry.summary} …", left)


def _squeezed(entry: RingEntry, budget: int, count: Count) -> tuple[Quote, ...]:
    """As much of the newest as fits: both sides cut to the same length."""
    chars = budget
    while chars:
        user, reply = cut(entry.user_message, chars), cut(said(entry), chars)
        left = entry_tokens(entry) - estimate_tokens(user) - estimate_tokens(reply)
        quotes = (Quote(entry, user, reply, max(0, left)),)
        if count(quotes) <= budget:
            return quotes
        chars //= 2
    return ()

"""How much each word and each sentence of the remembered entries matters for a message. Pure.

A word counts more the longer it is, the more often it comes back (what people talk about does), if it names something,
and if both sides used it; and less the larger a part of all sentences has it, since that is how grammar behaves in any
language. The constants are round numbers. Some were compared with their neighbours on the dialogues of bench.context and
on rearrangements of them; how, and what was not: docs/decisions/0010.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress, pairwise, repeat
from math import log
from operator import contains, not_

from memory.features import Features, sentences
from memory.terms import PREFIX, length_weight
from memory.terms import terms as terms_of

NAME_WEIGHT = 2
SHARED_WEIGHT = 1.5
"""Words of the person that a reply has too, and the other way round."""
COMMON_FLOOR = 0.1
"""What is left of the weight of a word that half of all sentences have."""
FEW_SENTENCES = 10
"""Below so many sentences a part of them says little."""
ENTRY_SHARE = 0.25
"""A sentence gets at least this part of what the best of its entry has in common with the message."""
TELLING = 0.6
"""Length weight from which a word that a statement shares with the message says what both are about."""
MOST_SENTENCES = 160
"""Are weighed; of more, each older entry gives an equal number. 500 tokens are about 20 sentences."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The sentences in one row, oldest entry first, the person's before the bot's."""

    firsts: list[int]
    """Index of the first sentence of each entry; one more at the end."""
    entries: list[int]
    """The number of the entry of each."""
    numbers: list[int]
    """Which sentence of its entry each is."""
    own: list[bool]
    """Whether it is the person's."""
    terms: list[list[str]]
    weights: dict[str, float]
    overlaps: list[float]
    """What each sentence has in common with the message, 0…1 of the message's weight."""
    asked: list[int]
    """The telling terms each shares with the message: one bit for each."""
    places: list[list[int]]
    """Of each term that is more than grammar, the entries that have it, one as often as sentences of it do."""

    def of(self, number: int) -> range:
        """The sentences of one entry."""
        return range(self.firsts[number], self.firsts[number + 1])


def weigh(entries: Sequence[Features], message: str) -> Weighed:
    """Looks at every word once."""
    wanted = {term for start, end in sentences(message) for term in terms_of(message[start:end])[0]}
    kept = _kept(entries, wanted)
    firsts = list(accumulate(map(len, kept), initial=0))
    numbers = list(chain.from_iterable(kept))
    entry_of = [number for number, some in enumerate(kept) for _ in some]
    terms = [entries[at].terms[number].split() for at, number in zip(entry_of, numbers, strict=True)]
    own = [number < entries[at].user_sentences for at, number in zip(entry_of, numbers, strict=True)]
    places = _places(terms)
    weights, heavy = _weights(places, len(terms))
    for term in places.keys() & chain.from_iterable([one.names for one in entries]):
        weights[term] *= NAME_WEIGHT / length_weight(term)
    for term in _said_by_both(terms, own):
        weights[term] *= SHARED_WEIGHT
    overlaps, asked = _shared(wanted, places, weights, len(terms))
    for start, end in pairwise(firsts):
        least = ENTRY_SHARE * max(overlaps[start:end], default=0.0)
        if least:
            overlaps[start:end] = [max(least, overlap) for overlap in overlaps[start:end]]
    talk = [[entry_of[index] for index in places[term]] for term in heavy]
    return Weighed(firsts, entry_of, numbers, own, terms, weights, overlaps, asked, talk)


def _kept(entries: Sequence[Features], wanted: Iterable[str]) -> list[Sequence[int]]:
    """Of each entry the numbers of the sentences that are weighed: those with wanted words, then the first."""
    if sum(len(one.terms) for one in entries) <= MOST_SENTENCES:
        return [range(len(one.terms)) for one in entries]
    most = MOST_SENTENCES // len(entries)
    rare = [term for term in wanted if length_weight(term) == 1]
    kept = [_best(one.terms, rare, most) for one in entries[:-1]]
    return [*kept, range(len(entries[-1].terms))]


def _best(lines: Sequence[str], rare: Sequence[str], most: int) -> Sequence[int]:
    """Those that hold most of the rare terms, the first of equals, in order."""
    if len(lines) <= most:
        return range(len(lines))
    whole = "\n".join(lines)
    here = [term for term in rare if term in whole]
    if not here:
        return range(most)
    hits = list(map(sum, zip(*[map(contains, lines, repeat(term)) for term in here], strict=True)))
    return sorted(sorted(range(len(hits)), key=hits.__getitem__, reverse=True)[:most])


def _said_by_both(terms: Sequence[list[str]], own: Sequence[bool]) -> set[str]:
    """The terms of the person that the bot has too. own: which sentences are the person's."""
    mine = set(chain.from_iterable(compress(terms, own)))
    return mine.intersection(chain.from_iterable(compress(terms, map(not_, own))))


def _places(terms: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """The sentences in which each term stands. Two plain loops: a Counter takes twice as long and tells less."""
    places = defaultdict[str, list[int]](list)
    for index, words in enumerate(terms):
        for term in words:
            places[term].append(index)
    return places


def _weights(places: Mapping[str, Sequence[int]], sentences: int) -> tuple[dict[str, float], list[str]]:
    """Of each term, by its length and by how often it comes back; and the terms that are more than grammar."""
    recurring = {
        count: (1 + log(count)) * max(COMMON_FLOOR, 1 - 2 * count / (sentences + FEW_SENTENCES))
        for count in set(map(len, places.values()))
    }
    weights: dict[str, float] = {}
    heavy: list[str] = []
    for term, where in places.items():
        length = 1.0 if len(term) >= PREFIX else length_weight(term)
        weights[term] = length * recurring[len(where)]
        if length == 1:
            heavy.append(term)
    return weights, heavy


def _shared(
    wanted: set[str], places: Mapping[str, Sequence[int]], weights: Mapping[str, float], sentences: int
) -> tuple[list[float], list[int]]:
    """`Weighed.overlaps` and `Weighed.asked`."""
    whole = sum([weights.get(term, length_weight(term)) for term in wanted])
    overlaps, asked = [0.0] * sentences, [0] * sentences
    for number, term in enumerate(wanted & places.keys()):
        share, bit = weights[term] / whole, (length_weight(term) >= TELLING) << number
        for index in places[term]:
            overlaps[index] += share
            asked[index] |= bit
    return overlaps, asked

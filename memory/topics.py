"""Where the talk turned to something else. Pure.

People come back to what they talked of before, and then mostly to the point at which they left it. What was said before
the talk turned shares few words with what was said after (M. Hearst, "TextTiling", 1997).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from math import log, sqrt

TURN = 0.5
"""The talk turned where exchanges before and after share less than this part of what any two share on average."""
LEAST_EXCHANGES = 4


def left_at(exchanges: Sequence[Mapping[str, int]]) -> list[int]:
    """Indexes of the last exchanges before the talk turned, the clearest turn first; at most two.

    The second turn is looked for after the first, else before it. exchanges: of each, how often it has its terms.
    """
    first = _clearest(exchanges)
    if first is None:
        return []
    later = _clearest(exchanges[first + 1 :])
    if later is not None:
        return [first, first + 1 + later]
    earlier = _clearest(exchanges[: first + 1])
    return [first] if earlier is None else [first, earlier]


def _clearest(exchanges: Sequence[Mapping[str, int]]) -> int | None:
    """The gap across which the pairs of exchanges share least of what so many pairs share on average.

    Less is measured by the root of their number, since that is how far a sum of so many strays by chance.
    """
    if len(exchanges) < LEAST_EXCHANGES:
        return None
    average, across = _shared(exchanges)
    pairs = [gap * (len(exchanges) - gap) for gap in range(1, len(exchanges))]
    lack = [(shared - average * count) / sqrt(count) for shared, count in zip(across, pairs, strict=True)]
    index = lack.index(min(lack))
    return index if across[index] < TURN * average * pairs[index] else None


def _shared(exchanges: Sequence[Mapping[str, int]]) -> tuple[float, list[float]]:
    """What a pair of exchanges shares on average (cosine, 0…1), and for each gap the sum of the pairs across it.

    The products of all pairs of two groups add up to the product of their sums: no pair is looked at alone.
    """
    vectors = [_unit(terms) for terms in exchanges]
    after: defaultdict[str, float] = defaultdict(float)
    for term, weight in chain.from_iterable(vector.items() for vector in vectors):
        after[term] += weight
    before = dict.fromkeys(after, 0.0)
    across, total, sums = 0.0, 0.0, list[float]()
    for vector in vectors:
        for term, weight in vector.items():
            after[term] -= weight
            total += weight * before[term]
            across += weight * (after[term] - before[term])
        for term, weight in vector.items():
            before[term] += weight
        sums.append(across)
    return 2 * total / (len(vectors) * (len(vectors) - 1)), sums[:-1]


def _unit(terms: Mapping[str, int]) -> dict[str, float]:
    """Of length 1."""
    weights = {term: 1 + log(times) for term, times in terms.items()}
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}

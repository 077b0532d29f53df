"""Where the talk turned to something else. Pure.

People come back to what they talked of before, and then mostly to the point at which they left it. What was said before
the talk turned shares few words with what was said after (M. Hearst, "TextTiling", 1997).
"""

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
    vectors = _vectors(exchanges)
    first = _clearest(vectors)
    if first is None:
        return []
    later = _clearest(vectors[first + 1 :])
    if later is not None:
        return [first, first + 1 + later]
    earlier = _clearest(vectors[: first + 1])
    return [first] if earlier is None else [first, earlier]


def _clearest(vectors: Sequence[Mapping[str, float]]) -> int | None:
    """The gap across which the pairs of exchanges share least of what so many pairs share on average.

    Less is measured by the root of their number, since that is how far a sum of so many strays by chance.
    """
    if len(vectors) < LEAST_EXCHANGES:
        return None
    average, across = _shared(vectors)
    pairs = [gap * (len(vectors) - gap) for gap in range(1, len(vectors))]
    lack = [(shared - average * count) / sqrt(count) for shared, count in zip(across, pairs, strict=True)]
    index = lack.index(min(lack))
    return index if across[index] < TURN * average * pairs[index] else None


def _shared(vectors: Sequence[Mapping[str, float]]) -> tuple[float, list[float]]:
    """What a pair of exchanges shares on average (cosine, 0…1), and for each gap the sum of the pairs across it.

    The products of all pairs of two groups add up to the product of their sums: no pair is looked at alone.
    """
    after = dict.fromkeys(chain.from_iterable(vectors), 0.0)
    before = after.copy()
    for vector in vectors:
        for term, weight in vector.items():
            after[term] += weight
    across, total, sums = 0.0, 0.0, list[float]()
    for vector in vectors:
        for term, weight in vector.items():
            earlier = before[term]
            later = after[term] = after[term] - weight
            total += weight * earlier
            across += weight * (later - earlier)
            before[term] = earlier + weight
        sums.append(across)
    return 2 * total / (len(vectors) * (len(vectors) - 1)), sums[:-1]


def _vectors(exchanges: Sequence[Mapping[str, int]]) -> list[dict[str, float]]:
    """Of length 1. What only one exchange has counts for its length, but is left out: no pair shares it."""
    seen, common = set[str](), set[str]()
    for terms in exchanges:
        common.update(seen.intersection(terms))
        seen.update(terms)
    most = max(chain.from_iterable(terms.values() for terms in exchanges), default=0)
    weights = [0.0, *(1 + log(times) for times in range(1, most + 1))]
    squares = [weight * weight for weight in weights]
    vectors: list[dict[str, float]] = []
    for terms in exchanges:
        length = sqrt(sum([squares[times] for times in terms.values()]))
        vectors.append({term: weights[times] / length for term, times in terms.items() if term in common})
    return vectors

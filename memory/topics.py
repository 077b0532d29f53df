"""Where the talk turned to something else. Pure.

People come back to what they talked of before, and then mostly to the point at which they left it. What was said before
the talk turned shares few words with what was said after (M. Hearst, "TextTiling", 1997).
"""

from collections.abc import Sequence
from math import log, sqrt

TURN = 0.5
"""The talk turned where exchanges before and after share less than this part of what any two share on average."""
LEAST_EXCHANGES = 4


type Vector = list[tuple[int, float]]
"""The terms of one exchange, by number, and their weights."""


def left_at(places: Sequence[Sequence[int]], exchanges: int) -> list[int]:
    """Indexes of the last exchanges before the talk turned, the clearest turn first; at most two.

    The second turn is looked for after the first, else before it. places: of each term the exchanges that have it, in
    order, one as often as it has it.
    """
    vectors, terms = _vectors(places, exchanges)
    first = _clearest(vectors, terms)
    if first is None:
        return []
    later = _clearest(vectors[first + 1 :], terms)
    if later is not None:
        return [first, first + 1 + later]
    earlier = _clearest(vectors[: first + 1], terms)
    return [first] if earlier is None else [first, earlier]


def _clearest(vectors: Sequence[Vector], terms: int) -> int | None:
    """The gap across which the pairs of exchanges share least of what so many pairs share on average.

    Less is measured by the root of their number, since that is how far a sum of so many strays by chance.
    """
    if len(vectors) < LEAST_EXCHANGES:
        return None
    average, across = _shared(vectors, terms)
    pairs = [gap * (len(vectors) - gap) for gap in range(1, len(vectors))]
    lack = [(shared - average * count) / sqrt(count) for shared, count in zip(across, pairs, strict=True)]
    index = lack.index(min(lack))
    return index if across[index] < TURN * average * pairs[index] else None


def _shared(vectors: Sequence[Vector], terms: int) -> tuple[float, list[float]]:
    """What a pair of exchanges shares on average (cosine, 0…1), and for each gap the sum of the pairs across it.

    The products of all pairs of two groups add up to the product of their sums: no pair is looked at alone.
    """
    before, after = [0.0] * terms, [0.0] * terms
    for vector in vectors:
        for term, weight in vector:
            after[term] += weight
    across, total, sums = 0.0, 0.0, list[float]()
    for vector in vectors:
        for term, weight in vector:
            earlier = before[term]
            later = after[term] = after[term] - weight
            total += weight * earlier
            across += weight * (later - earlier)
            before[term] = earlier + weight
        sums.append(across)
    return 2 * total / (len(vectors) * (len(vectors) - 1)), sums[:-1]


def _vectors(places: Sequence[Sequence[int]], exchanges: int) -> tuple[list[Vector], int]:
    """Of length 1, and how many terms they have. What only one exchange has counts for its length, but is left out: no
    pair shares it.
    """
    squares = [0.0] * exchanges
    vectors: list[Vector] = [[] for _ in squares]
    terms = 0
    for place in places:
        number, times = place[0], 0
        if number == place[-1]:
            squares[number] += (1 + log(len(place))) ** 2
            continue
        for following in (*place, -1):
            if following == number:
                times += 1
                continue
            weight = 1 + log(times) if times > 1 else 1.0
            squares[number] += weight * weight
            vectors[number].append((terms, weight))
            number, times = following, 1
        terms += 1
    lengths = map(sqrt, squares)
    return [
        [(term, weight / length) for term, weight in vector]
        for vector, length in zip(vectors, lengths, strict=True)
    ], terms

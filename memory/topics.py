"""Where the talk turned to something else. Pure.

People come back to what they talked of before, and then mostly to the point at which they left it. Two neighbouring
stretches of talk share few words if the talk turned between them (M. Hearst, "TextTiling", 1997).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from math import log
from statistics import fmean

STRETCH = 3
"""Exchanges on either side that are compared."""
TURN = 0.5
"""The talk turned where neighbouring stretches share less than this part of what they share on average."""
LEAST_EXCHANGES = 4


def left_at(exchanges: Sequence[set[str]]) -> int | None:
    """Index of the last exchange before the clearest turn; None if there is none. exchanges: the terms of each."""
    if len(exchanges) < LEAST_EXCHANGES:
        return None
    links = _links(exchanges)
    weakest = min(links)
    return links.index(weakest) if weakest < TURN * fmean(links) else None


def _links(exchanges: Sequence[set[str]]) -> list[float]:
    """How much the stretches before and after each gap share, as a part of the smaller one's weight.

    A term weighs the more the fewer exchanges have it.
    """
    spread = Counter(chain.from_iterable(exchanges))
    rarity = [0.0, *(log((len(exchanges) + 1) / count) for count in range(1, len(exchanges) + 1))]
    weights = [sum(map(rarity.__getitem__, map(spread.__getitem__, terms))) for terms in exchanges]
    recurring = {term for term, count in spread.items() if count > 1}
    back = [terms & recurring for terms in exchanges]
    links: list[float] = []
    for gap in range(1, len(exchanges)):
        before, after = slice(max(0, gap - STRETCH), gap), slice(gap, gap + STRETCH)
        shared = set[str]().union(*back[before]).intersection(set[str]().union(*back[after]))
        smaller = min(sum(weights[before]), sum(weights[after]))
        links.append(sum(rarity[spread[term]] for term in shared) / smaller if smaller else 1.0)
    return links

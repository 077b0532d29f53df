"""Something outside does not work: say so once, wait longer each time, and say so once when it works again."""

from collections.abc import Callable

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


class Trouble:
    """Troubles of one bot, each known by a word ("telegram", "redis")."""

    def __init__(self, say: Callable[[str], None], chance: Callable[[], float]) -> None:
        """say: prints a line for people. chance: gives 0 ≤ x < 1."""
        self._say = say
        self._chance = chance
        self._times: dict[str, int] = {}
        self._said: set[str] = set()

    def met(self, what: str, line: str, *, longest_s: float = LONGEST_WAIT_S, patience: int = 0) -> float:
        """It failed (again): seconds to wait before the next attempt.

        patience: how often it may fail in a row before people hear of it.
        """
        times = self._times.get(what, 0)
        self._times[what] = times + 1
        if times >= patience and what not in self._said:
            self._said.add(what)
            self._say(line)
        return min(longest_s, FIRST_WAIT_S * 2 ** min(times, 10)) * (0.5 + self._chance() / 2)

    def over(self, what: str, line: Callable[[], str]) -> None:
        """It works; says `line` if people heard of the trouble."""
        if self._times.pop(what, 0) and what in self._said:
            self._said.remove(what)
            self._say(line())

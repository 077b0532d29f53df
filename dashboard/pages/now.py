"""Now: how it goes in one sentence, six numbers, the last hour, the lanes, the latest messages."""

from itertools import islice

from dashboard.act_words import yes
from dashboard.actions import Pause, Resume, field_of
from dashboard.asked import Asked
from dashboard.house_now import HouseNow, house_now
from dashboard.kinds import state_words, tone_of
from dashboard.listed import item_line, line_of
from dashboard.numbers import chart_of
from dashboard.page import Page, Values
from dashboard.query import Query
from dashboard.search import waiting_items
from dashboard.sentence import headline, reason, totals
from dashboard.words import said_in
from infra.clock import offset_ms
from infra.pause import EVERYTHING
from infra.texts import later

LATEST, LATEST_WAITING = 10, 5
LANE_WORD_STATES = ("stuck", "retrying", "paused", "held")


async def values(asked: Asked) -> Values:
    """Raises what redis-py raises."""
    now = await house_now(asked)
    shared = asked.shared
    rows = list(islice(shared.lives.newest_first(), LATEST))
    items = await waiting_items(shared, Query(), now.names, now.queue, LATEST_WAITING)
    said = await said_in(shared, rows)
    ahead_ms = offset_ms()
    return {
        **sentence_values(now, asked),
        **words_for(asked),
        "n": now.numbers,
        "queue": now.queue,
        "lanes": now.lanes,
        "names": now.names,
        "has_history": now.has_history,
        "chart_data": chart_of(
            now.counts,
            {
                "answered": asked.say(later("answered")),
                "fallback": asked.say(later("answered by fallback")),
                "failed": asked.say(later("failed")),
            },
        ),
        "hour": {what: sum(counts) for what, counts in now.counts.minutes.items()},
        "lines": [
            *(item_line(item, now.names) for item in items),
            *(line_of(row, now.names, said, ahead_ms) for row in rows),
        ],
        "pausing": _pausing(now),
        "bot_names": tuple(dict.fromkeys(now.names.bots.values())),
    }


def sentence_values(now: HouseNow, asked: Asked) -> dict[str, object]:
    """The strip on top."""
    zone, language = asked.shared.zone, asked.language
    return {
        "tone": now.condition.tone,
        "headline": headline(now.condition, language),
        "reason": reason(now.condition, language, zone),
        "totals": totals(now.numbers, asked.shared.settings.money, language),
    }


def words_for(asked: Asked) -> dict[str, object]:
    """What lists call in their templates."""

    def of_state(state: str) -> str:
        return state_words(state, asked.language)

    def of_act(name: str) -> str:
        return yes(name, asked.language)

    return {
        "tone_of": tone_of,
        "state_words": of_state,
        "act_words": of_act,
        "lane_word_states": LANE_WORD_STATES,
    }


def _pausing(now: HouseNow) -> tuple[str, str]:
    """Act and field of the button that pauses everything, or ends that."""
    since_ms = now.queue.paused.since_ms.get(EVERYTHING)
    if since_ms is None:
        return "pause", field_of(Pause(EVERYTHING))
    return "resume", field_of(Resume(EVERYTHING, since_ms))


PAGE = Page(
    "now", "/", later("Now"), values, live=("pausing", "strip", "tiles", "minutes", "lanes", "latest")
)

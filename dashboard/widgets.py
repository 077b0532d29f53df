"""What templates call: times, numbers, dots. As functions, since a block is rendered without the imports of its template."""

from collections.abc import Mapping
from typing import Any

import orjson
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from dashboard import texts
from dashboard.asked import Asked
from dashboard.figures import (
    ago_text,
    clock_text,
    moment_text,
    money_text,
    number_text,
    share_text,
    span_text,
)

TONES = ("waiting", "running", "scheduled", "answered", "fallback", "failed", "memory")
"""The colours, one meaning each."""


def _asked(context: Context) -> Asked:
    return context["asked"]


@pass_context
def say(context: Context, msgid: str, /, **values: object) -> str:
    """`{{ say("Waiting") }}`."""
    return texts.say(context["language"], msgid, **values)


@pass_context
def say_n(context: Context, singular: str, plural: str, n: int, /, **values: object) -> str:
    """`{{ say_n("{n} message", "{n} messages", count) }}`."""
    return texts.say_n(context["language"], singular, plural, n, **values)


def dot(tone: str, words: str) -> Markup:
    """A dot with its word; the colour alone never says anything."""
    return Markup('<span class="dot {}">{}</span>').format(tone, words)


@pass_context
def ago(context: Context, at_ms: int) -> Markup:
    """Relative, with the moment itself when pointed at: `{{ row.at_ms | ago }}`."""
    asked = _asked(context)
    moment = moment_text(at_ms, asked.shared.zone, asked.language)
    return Markup('<time title="{}">{}</time>').format(moment, ago_text(at_ms, asked.now_ms, asked.language))


@pass_context
def moment(context: Context, at_ms: int) -> str:
    """ "30 Nov 2026, 14:23:05"."""
    asked = _asked(context)
    return moment_text(at_ms, asked.shared.zone, asked.language)


@pass_context
def clock(context: Context, at_ms: int) -> str:
    """ "14:23"."""
    return clock_text(at_ms, _asked(context).shared.zone)


@pass_context
def span(context: Context, duration_ms: float) -> str:
    """ "1.5 s"."""
    return span_text(duration_ms, context["language"])


@pass_context
def money(context: Context, microusd: float | None) -> Markup | str:
    """ "$0.0041"; what has no price says so when pointed at."""
    if microusd is None:
        return Markup('<abbr title="{}">–</abbr>').format(texts.say(context["language"], "price not known"))
    return money_text(microusd, _asked(context).shared.settings.money, context["language"])


@pass_context
def number(context: Context, value: float | None, digits: int = 0) -> Markup:
    """ "12,400"; a zero is muted."""
    text = number_text(value, context["language"], digits)
    return Markup('<span class="zero">{}</span>').format(text) if value == 0 else Markup("{}").format(text)


@pass_context
def share(context: Context, value: float | None) -> str:
    """ "10%"."""
    return share_text(value, context["language"])


@pass_context
def words(context: Context, text: str | None) -> Markup | str:
    """The text of a person or a model, or why it is not shown; None: it expired or was forgotten."""
    language = context["language"]
    if not context["shows_texts"]:
        return Markup('<i class="quiet">{}</i>').format(texts.say(language, "text hidden"))
    if text is None:
        return Markup('<i class="quiet">{}</i>').format(texts.say(language, "text no longer kept"))
    return text


@pass_context
def chart(context: Context, name: str, label: str, data: Mapping[str, Any]) -> Markup:
    """A time series, drawn by koi.js. name: its id. label: what it shows, for who cannot see it.

    data: {"x": [seconds], "series": [{"label": "answered", "tone": "answered", "values": [1, 2], "fill": true}]}.
    """
    asked = _asked(context)
    told = {"zone": getattr(asked.shared.zone, "key", ""), "language": asked.language}
    return Markup(
        '<div class="chart" id="{}" role="img" aria-label="{}" data-chart="{}" hx-morph-skip-children></div>'
    ).format(name, label, orjson.dumps({**data, **told}).decode())


FUNCTIONS = {"say": say, "say_n": say_n, "dot": dot, "chart": chart}
FILTERS = {
    "ago": ago,
    "moment": moment,
    "clock": clock,
    "span": span,
    "money": money,
    "number": number,
    "share": share,
    "words": words,
}

"""/metrics for Prometheus: what the pages show, as numbers.

Without a password it is open as everything is: on this machine. Else a scraper shows the reader's (or the admin's) password,
as `basic_auth` with any name or as a bearer token; a browser that is logged in may look too. Counters are of this UTC day and
begin anew at midnight, which `rate` and `increase` take for the restart of a process.
"""

import base64
import binascii
from collections.abc import Iterable
from http import HTTPStatus

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dashboard.login import let_in, role_of
from dashboard.measured import Measured, Tally, measure
from dashboard.outage import Away, patient
from dashboard.shared import shared_of

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
DESCRIPTIONS = {
    "messages": "Messages of turns that ended",
    "answered": "Those of them that were answered",
    "fallback": "Answered by another model than the one asked first",
    "failed": "That became dead letters",
    "turns": "Turns that ended",
    "conversations": "Conversations that began",
    "exchanges": "Exchanges with a model",
    "retries": "Earlier attempts of turns that failed or died",
}
NO_PASSWORD = {"WWW-Authenticate": 'Basic realm="koi", charset="UTF-8"'}


class Metrics:
    """The endpoint of one app."""

    def __init__(self) -> None:
        self._tally = Tally()

    async def show(self, request: Request) -> Response:
        """GET /metrics."""
        shared = shared_of(request)
        try:
            async with patient():
                refusal = await _refusal_of(request)
                if refusal:
                    return refusal
                measured = await measure(shared, self._tally)
        except Away:
            return PlainTextResponse("Redis cannot be reached\n", HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(exposed(measured), media_type=CONTENT_TYPE)


async def _refusal_of(request: Request) -> Response | None:
    """None: whoever asks may see it."""
    if role_of(request):
        return None
    password = password_in(request.headers.get("authorization", ""))
    if not password:
        return PlainTextResponse("a password is needed\n", HTTPStatus.UNAUTHORIZED, NO_PASSWORD)
    address = request.client.host if request.client else ""
    match await let_in(shared_of(request), address, password):
        case None:
            return PlainTextResponse("wrong password\n", HTTPStatus.UNAUTHORIZED, NO_PASSWORD)
        case int(wait_ms):
            after = {"Retry-After": str(wait_ms // 1000 + 1)}
            return PlainTextResponse("too many wrong passwords\n", HTTPStatus.TOO_MANY_REQUESTS, after)
        case _:
            return None


def password_in(header: str) -> str:
    """Of an Authorization header, basic or bearer; "" if there is none to read."""
    scheme, _, value = header.partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip()
        case "basic":
            try:
                return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return ""
        case _:
            return ""


def exposed(measured: Measured) -> bytes:
    """The text that Prometheus reads. Its own registry: nothing of the process is in it."""

    class Once(Collector):
        def collect(self) -> Iterable[Metric]:
            return families(measured)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Once())
    return generate_latest(registry)


def families(measured: Measured) -> Iterable[Metric]:
    """All metrics, in a fixed order."""
    yield from _queue(measured)
    for what, description in DESCRIPTIONS.items():
        yield CounterMetricFamily(
            f"koi_{what}", f"{description}, this UTC day", value=measured.counts.get(what, 0)
        )
    yield from _models(measured)


def _queue(measured: Measured) -> Iterable[Metric]:
    lanes = GaugeMetricFamily("koi_lanes", "Conversations in the queue", labels=["state"])
    for state in ("waiting", "busy", "parked"):
        lanes.add_metric([state], getattr(measured, state))
    yield lanes
    yield GaugeMetricFamily(
        "koi_oldest_wait_seconds", "How long the first one waits", value=measured.oldest_ms / 1000
    )
    yield GaugeMetricFamily(
        "koi_dead_letters", "Messages and replies that were given up", value=measured.dead
    )
    yield GaugeMetricFamily("koi_paused", "Bots that somebody has paused", value=measured.paused)
    processes = GaugeMetricFamily("koi_processes", "Processes seen in the last 15 s", labels=["kind"])
    for kind, n in measured.living.items():
        processes.add_metric([kind], n)
    yield processes
    yield CounterMetricFamily(
        "koi_swept_lanes", "Lanes that were found without a job; must stay 0", value=measured.swept
    )


def _models(measured: Measured) -> Iterable[Metric]:
    sums = measured.calls
    calls = CounterMetricFamily(
        "koi_model_calls", "Calls of models, this UTC day", labels=["service", "model", "outcome"]
    )
    for labels, n in sorted(sums.calls.items()):
        calls.add_metric(labels, n)
    yield calls
    tokens = CounterMetricFamily("koi_model_tokens", "Tokens, this UTC day", labels=["model", "kind"])
    for labels, n in sorted(sums.tokens.items()):
        tokens.add_metric(labels, n)
    yield tokens
    cost = CounterMetricFamily("koi_cost_usd", "What calls cost, this UTC day, US dollars", labels=["model"])
    for model, microusd in sorted(sums.microusd.items()):
        cost.add_metric([model], microusd / 1_000_000)
    yield cost
    unpriced = CounterMetricFamily(
        "koi_unpriced_calls", "Calls whose price is not known, this UTC day", labels=["model"]
    )
    for model, n in sorted(sums.unpriced.items()):
        unpriced.add_metric([model], n)
    yield unpriced

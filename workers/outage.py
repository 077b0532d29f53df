"""An outage from its first alert to its all-clear. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from llm.errors import NoModelAnswered
from llm.request import CallEnded, Completion, Skipped
from schemas.outage import Outage
from schemas.wire import NotReadable, load
from workers.alert_text import Alert, FellBack, NobodyAnswered, Recovered

KEPT_S = 7 * 24 * 3_600
"""How long after its last alert an outage can have an all-clear."""


def fallback_of(completion: Completion, began_ms: int, ahead_ms: int) -> FellBack | None:
    """None: the first choice answered, or was left out for another reason than a failure (a plan).

    began_ms: of the turn. ahead_ms: Services.ahead_ms, since the breaker's times are Redis'.
    """
    if completion.model == completion.asked:
        return None
    failure = _failure(completion.asked, completion.calls, completion.skipped, ahead_ms)
    if failure is None:
        return None
    why, since_ms = failure
    return FellBack(completion.asked, why, since_ms or began_ms, completion.model)


def silence_of(asked: str, error: NoModelAnswered, began_ms: int, ahead_ms: int) -> NobodyAnswered:
    """asked: the first choice. It gets an all-clear only if it was itself among those that failed."""
    failure = _failure(asked, error.calls, error.skipped, ahead_ms)
    if failure is None:
        return NobodyAnswered(error.reason)
    why, since_ms = failure
    return NobodyAnswered(error.reason, asked, why, since_ms or began_ms)


def _failure(
    model: str, calls: Sequence[CallEnded], skipped: Sequence[Skipped], ahead_ms: int
) -> tuple[str, int] | None:
    """Why a model did not answer, and since when (0: just now); None: it did not fail."""
    for skip in skipped:
        if skip.model == model and skip.by == "breaker":
            return skip.why, 0 if skip.since_ms is None else skip.since_ms + ahead_ms
    outcomes = [call.outcome for call in calls if call.model == model]
    return (outcomes[-1], 0) if outcomes else None


def failing(alert: Alert) -> str:
    """The model whose outage this alert is about; "" if it is about none."""
    return alert.asked if isinstance(alert, FellBack | NobodyAnswered) else ""


def read_outage(raw: bytes | None) -> Outage | None:
    """None: there is none, or it cannot be read.

    Raises: NewerVersion.
    """
    try:
        return None if raw is None else load(Outage, raw)
    except NotReadable:
        return None


def outage_of(alert: FellBack | NobodyAnswered, known: Outage | None) -> Outage:
    """What is stored with the alert. known: what was told of that model before; then it fails since that began."""
    model = alert.model if isinstance(alert, FellBack) else known.model if known else ""
    if known is None:
        return Outage(since_ms=alert.since_ms, why=alert.why, model=model)
    return Outage(since_ms=min(known.since_ms, alert.since_ms), why=known.why or alert.why, model=model)


def dated(alert: Alert, outage: Outage | None) -> Alert:
    """The alert with the true beginning of its outage."""
    if isinstance(alert, FellBack) and outage is not None:
        return replace(alert, since_ms=outage.since_ms)
    return alert


def recovered(model: str, outage: Outage, at_ms: int) -> Recovered:
    """Its all-clear."""
    return Recovered(model, outage.why, outage.since_ms, outage.model, at_ms)

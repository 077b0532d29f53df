"""What can go wrong for whoever asks, and what they can do then."""

from llm.failure import Failure
from llm.request import CallEnded, Skipped


class ModelError(Exception):
    """Root of this package's errors."""


class NotConfigured(ModelError):
    """The settings name a model that no configured service offers: correct them. Raised at start only."""


class NoModelAnswered(ModelError):
    """Every candidate failed, or the time was up: say so to the person, and try the turn again later.

    `reason` is one line for the owner, without anybody's text. `retry_after_s`: all services asked to be left alone,
    the least of them this long; None: the usual back-off. `worth_retrying` is False if only a change of the settings
    or of the account can help (wrong key, no credit, unknown model). `skipped`: who was not asked at all.
    """

    def __init__(
        self,
        calls: tuple[CallEnded, ...],
        reason: str,
        *,
        retry_after_s: float | None = None,
        worth_retrying: bool = True,
        skipped: tuple[Skipped, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.calls = calls
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.worth_retrying = worth_retrying
        self.skipped = skipped


class NotAllowed(ModelError):
    """No model may be asked (a plan is used up), and none was: tell the person. `reason`: the first Denied.reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RequestRejected(ModelError):
    """The service found fault with this very request: it will not work again as it is.

    `too_long`: send less; `limit_tokens`: what the model takes (its answer included, if the service counts so), if the
    service said it. Otherwise give the turn up.
    """

    def __init__(
        self,
        calls: tuple[CallEnded, ...],
        reason: str,
        *,
        too_long: bool = False,
        limit_tokens: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.calls = calls
        self.reason = reason
        self.too_long = too_long
        self.limit_tokens = limit_tokens


class CallFailed(ModelError):
    """One call failed. Stays inside this package: the chain decides what follows."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.detail}")
        self.failure = failure

"""What can go wrong for whoever asks, and what they can do then."""

from llm.failure import Failure
from llm.request import CallEnded


class ModelError(Exception):
    """Root of this package's errors."""


class NotConfigured(ModelError):
    """The settings name a model that no configured service offers: correct them. Raised at start only."""


class NoModelAnswered(ModelError):
    """Every candidate failed, or the time was up: say so to the person, and try the turn again later.

    `reason` is one line for the owner, without anybody's text. `retry_after_s`: all services asked to be left alone,
    the least of them this long; None: the usual back-off. `worth_retrying` is False if only a change of the settings
    or of the account can help (wrong key, no credit, unknown model).
    """

    def __init__(
        self,
        calls: tuple[CallEnded, ...],
        reason: str,
        *,
        retry_after_s: float | None = None,
        worth_retrying: bool = True,
    ) -> None:
        super().__init__(reason)
        self.calls = calls
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.worth_retrying = worth_retrying


class RequestRejected(ModelError):
    """The service found fault with this very request: it will not work again as it is.

    `too_long`: send less. Otherwise give the turn up.
    """

    def __init__(self, calls: tuple[CallEnded, ...], reason: str, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.calls = calls
        self.reason = reason
        self.too_long = too_long


class CallFailed(ModelError):
    """One call failed. Stays inside this package: the chain decides what follows."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.detail}")
        self.failure = failure

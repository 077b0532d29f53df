"""Plumbing that every process shares: settings, Redis, keys, clock, log, people."""

import sys
from importlib import import_module


def import_without(hidden: str, name: str) -> None:
    """Import `name` once, here, with `hidden` out of its sight: it then does without. Whoever else imports `hidden` gets it."""
    if hidden in sys.modules or name in sys.modules:
        return
    sys.modules[hidden] = None  # pyright: ignore[reportArgumentType] - how Python writes "there is none"
    try:
        import_module(name)
    except ImportError:  # not installed: nothing to do
        pass
    finally:
        del sys.modules[hidden]


# redis-py 5 imports jwt for a login that koi has not (Entra ID tokens), and jwt imports cryptography if it is there, as it is
# since mcp wants `pyjwt[crypto]`: 11 MB in every process. Without, it knows its algorithms without keys only.
import_without("cryptography", "jwt")

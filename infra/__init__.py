"""Plumbing that every process shares: settings, Redis, keys, clock, log, people."""

import sys
from importlib import import_module


def _import_jwt_light() -> None:
    """redis-py 5 imports jwt for a login that koi has not (Entra ID tokens), and jwt imports cryptography if it is there,
    as it is since mcp wants `pyjwt[crypto]`: 11 MB in every process. So jwt is imported once, here, before redis, with
    cryptography out of its sight; it then knows its algorithms without keys only, and whoever else imports cryptography
    (mcp, TLS of Redis) gets it.
    """
    hidden = "cryptography"
    if hidden in sys.modules or "jwt" in sys.modules:
        return
    sys.modules[hidden] = None  # pyright: ignore[reportArgumentType] - how Python writes "there is none"
    try:
        import_module("jwt")
    except ImportError:  # not installed: nothing to do
        pass
    finally:
        del sys.modules[hidden]


_import_jwt_light()

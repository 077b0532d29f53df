"""What a REDIS_URL says."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

SENTINEL_PORT = 26379


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """`redis+sentinel://[user:password@]host[:port][,host[:port]…]/master[/db][?option=…]`.

    Options: sentinel_username, sentinel_password, ssl_ca_certs. `rediss+sentinel://` uses TLS to the sentinels and to
    Redis.
    """

    hosts: tuple[tuple[str, int], ...]
    master: str
    db: int
    username: str | None
    password: str | None
    tls: bool
    sentinel_username: str | None
    sentinel_password: str | None
    ca_file: str | None
    """Who signed their certificates; None: those that this machine trusts."""


def is_sentinel_url(url: str) -> bool:
    """True for redis+sentinel:// and rediss+sentinel://."""
    return url.partition("://")[0].endswith("+sentinel")


def parse_sentinel(url: str) -> SentinelAddress:
    """Take a sentinel URL apart; names and passwords may be %-encoded.

    Raises: ValueError: no host, no master's name, or a port or database that is no number.
    """
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, has_password, password = credentials.partition(":")
    master, _, db = parts.path.strip("/").partition("/")
    addresses = tuple(_host_port(host) for host in hosts.split(",") if host)
    if not addresses or not master:
        raise ValueError("must be like redis+sentinel://host1:26379,host2:26379/master/0")
    query = parse_qs(parts.query)
    return SentinelAddress(
        hosts=addresses,
        master=unquote(master),
        db=int(db or 0),
        username=unquote(username) or None,
        password=unquote(password) if has_password else None,
        tls=parts.scheme.startswith("rediss"),
        sentinel_username=query.get("sentinel_username", [None])[0],
        sentinel_password=query.get("sentinel_password", [None])[0],
        ca_file=query.get("ssl_ca_certs", [None])[0],
    )


def _host_port(text: str) -> tuple[str, int]:
    if text.startswith("["):  # [::1]:26379
        host, _, rest = text[1:].partition("]")
        return host, int(rest.removeprefix(":") or SENTINEL_PORT)
    host, _, port = text.partition(":")
    return host, int(port or SENTINEL_PORT)

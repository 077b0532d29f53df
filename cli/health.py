"""`koi health`: does this machine's process of a kind live? Compose asks every few seconds, so little is imported."""

import os
import socket
from contextlib import closing
from typing import Any, Protocol, cast

import click
from redis import Redis, Sentinel
from redis.exceptions import RedisError

from cli.faults import Failure
from infra import keys
from infra.redis_address import is_sentinel_url, parse_sentinel

TIMEOUT_S = 3.0
ALIVE_MS = 15_000
"""As in infra.health, which is not imported: it costs more than the question itself."""
LIMITS: dict[str, Any] = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S}


class Client(Protocol):
    """Of redis-py's client, which is not typed, what the question needs."""

    def time(self) -> tuple[int, int]: ...
    def zrangebyscore(self, name: str, min: int, max: str) -> list[bytes]: ...
    def close(self) -> None: ...


@click.command()
@click.argument("kind", type=click.Choice(["bot", "worker", "dashboard"]))
def health(kind: str) -> None:
    """Exit 0 if a process of this kind, on this machine or in this container, said lately that it lives; else 1."""
    try:
        with closing(client_of(os.environ.get("REDIS_URL") or _configured_address())) as redis:
            seen = _seen_lately(redis, kind)
    except RedisError as error:
        raise Failure(f"Redis cannot be asked: {error}") from error
    if not any(process.startswith(f"{socket.gethostname()}-".encode()) for process in seen):
        raise Failure(f"no {kind} of this machine is alive")
    click.echo(f"{kind}: alive")


def client_of(url: str) -> Client:
    """A client that waits for at most TIMEOUT_S."""
    if not is_sentinel_url(url):
        return cast("Client", Redis.from_url(url, **LIMITS))
    address = parse_sentinel(url)
    asking: dict[str, Any] = {
        "username": address.sentinel_username,
        "password": address.sentinel_password,
        "ssl": address.tls,
    }
    sentinel = Sentinel(address.hosts, sentinel_kwargs=asking | LIMITS)
    login: dict[str, Any] = {"username": address.username, "password": address.password, "ssl": address.tls}
    return cast("Client", sentinel.master_for(address.master, db=address.db, **login, **LIMITS))


def _seen_lately(redis: Client, kind: str) -> list[bytes]:
    seconds, micros = redis.time()
    return redis.zrangebyscore(keys.alive(kind), seconds * 1000 + micros // 1000 - ALIVE_MS, "+inf")


def _configured_address() -> str:
    """From koi.toml or REDIS_URL_FILE, else the embedded server's, which is not started for the question."""
    from cli.environment import koi_settings  # noqa: PLC0415
    from infra.redis import data_folder  # noqa: PLC0415
    from infra.valkey import Place  # noqa: PLC0415

    settings = koi_settings()
    return settings.redis_url or f"unix://{Place(data_folder(settings) / 'valkey', ()).socket}"

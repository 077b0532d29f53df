"""The way to Redis: every kind of address for real, and a Redis that koi must not use is refused in one sentence."""

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

import infra.redis
from infra.redis import BadRedis, is_sentinel, open_redis, problem_of
from infra.redis_address import SentinelAddress, parse_sentinel
from infra.redis_port import RedisPort
from infra.settings import QueueSettings, Settings
from tests.infra.servers import BINARY, Relay, free_port, running, servers_of, short_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def tcp_port() -> Iterator[int]:
    """A server on loopback, without data."""
    port = free_port()
    with running("--port", str(port), "--bind", "127.0.0.1", "--save", ""):
        yield port


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_unix_socket_is_an_address(redis: RedisPort, valkey_socket: Path) -> None:
    async with open_redis(Settings(redis_url=f"unix://{valkey_socket}?db=0"), name="bot") as client:
        await client.set("a", "1")
        names = [one["name"] for one in await client.client_list()]

    assert await redis.get("a") == b"1"
    assert f"koi:bot:{os.getpid()}" in names


async def test_a_tcp_address_with_a_database(tcp_port: int) -> None:
    async with open_redis(Settings(redis_url=f"redis://127.0.0.1:{tcp_port}/3"), name="bot") as client:
        await client.set("a", "1")
        assert (await client.info("keyspace"))["db3"]["keys"] == 1


@pytest.fixture
def certificate(folder: Path) -> Path:
    """A self-signed one for localhost, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    file = folder / "pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command += f" -addext subjectAltName=DNS:localhost -keyout {file} -out {file}.crt"
    subprocess.run(command.split(), check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def tls_server(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


async def test_tls_is_used_and_the_certificate_checked(tcp_port: int, certificate: Path) -> None:
    async with Relay(tcp_port, tls=tls_server(certificate)) as port:
        trusting = Settings(redis_url=f"rediss://localhost:{port}/0?ssl_ca_certs={certificate}.crt")
        async with open_redis(trusting, name="bot") as client:
            await client.set("a", "1")
            assert await client.get("a") == b"1"

        with pytest.raises(BadRedis, match="certificate verify failed"):
            async with open_redis(Settings(redis_url=f"rediss://localhost:{port}"), name="bot", patience_s=0):
                pytest.fail("it trusted a stranger")


async def until(true: Any, patience_s: float = 15) -> None:
    async with asyncio.timeout(patience_s):
        while not await true():
            await asyncio.sleep(0.05)


@asynccontextmanager
async def sentinel_world(folder: Path) -> AsyncGenerator[tuple[int, int, subprocess.Popen[bytes]]]:
    """A master with one replica, watched by one sentinel: (sentinel's port, replica's port, master)."""
    ports = [free_port() for _ in range(3)]
    plain = ["--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync-delay", "0"]
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {ports[2]}\nbind 127.0.0.1\ndir {folder}\nsentinel monitor koi 127.0.0.1 {ports[0]} 1\n"
        "sentinel down-after-milliseconds koi 300\nsentinel failover-timeout koi 2000\n"
    )
    with (
        running("--port", str(ports[0]), *plain) as master,
        running("--port", str(ports[1]), *plain, "--replicaof", f"127.0.0.1 {ports[0]}"),
    ):
        async with open_redis(Settings(redis_url=f"redis://127.0.0.1:{ports[0]}"), name="admin") as admin:

            async def replicated() -> bool:
                await admin.set("a", "1")
                return await admin.wait(1, 200) == 1

            await until(replicated)  # a sentinel looks for replicas at its start, then every ten seconds
        with running(config, "--sentinel"):
            yield ports[2], ports[1], master


async def test_sentinel_leads_to_the_master_also_after_a_failover(folder: Path) -> None:
    async with sentinel_world(folder) as (port, replica_port, master):
        settings = Settings(redis_url=f"redis+sentinel://127.0.0.1:1,127.0.0.1:{port}/koi/2")
        async with open_redis(settings, name="bot") as client:
            assert await client.get("a") is None  # it is in database 0
            master.kill()

            async def written() -> bool:
                try:
                    return bool(await client.set("b", "2"))
                except RedisError:
                    return False

            await until(written)
            assert (await client.info("server"))["tcp_port"] == replica_port


async def test_sentinels_are_asked_over_tls_and_so_is_their_master(
    folder: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infra.redis, "CONNECT_S", 0.5)
    async with sentinel_world(folder) as (port, _, _), Relay(port, tls=tls_server(certificate)) as relay_port:
        url = f"rediss+sentinel://localhost:{relay_port}/koi?ssl_ca_certs={certificate}.crt"
        # The sentinel was understood; its master speaks no TLS, so the handshake with that one does not end
        with pytest.raises(BadRedis, match="cannot be reached: Timeout connecting to server"):
            async with open_redis(Settings(redis_url=url), name="bot", patience_s=0):
                pytest.fail("it spoke plainly")


async def test_a_sentinel_that_knows_no_such_master_is_told(folder: Path) -> None:
    async with sentinel_world(folder) as (port, _, _):
        with pytest.raises(BadRedis, match="leads to no sentinel that knows a master of this name"):
            async with open_redis(
                Settings(redis_url=f"redis+sentinel://127.0.0.1:{port}/carp"), name="bot", patience_s=0
            ):
                pytest.fail("there is no such master")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (
            "redis+sentinel://h1,h2:26380/home",
            SentinelAddress((("h1", 26379), ("h2", 26380)), "home", 0, None, None, False, None, None, None),
        ),
        (
            "rediss+sentinel://jo:p%40ss@[::1]:1/home/3?sentinel_password=x&ssl_ca_certs=/ca",
            SentinelAddress((("::1", 1),), "home", 3, "jo", "p@ss", True, None, "x", "/ca"),
        ),
        (
            "redis+sentinel://:pw@h/home",
            SentinelAddress((("h", 26379),), "home", 0, None, "pw", False, None, None, None),
        ),
    ],
    ids=["plain", "all", "password"],
)
def test_a_sentinel_address_is_taken_apart(url: str, address: SentinelAddress) -> None:
    assert parse_sentinel(url) == address
    assert is_sentinel(Settings(redis_url=url))
    assert not is_sentinel(Settings(redis_url="redis://h"))


@pytest.mark.parametrize(
    "url",
    ["redis+sentinel://h", "redis+sentinel://h:x/home", "redis+sentinel://h/home/x", "redis://h:70000x", "redis://h/x?db=y"],
)  # fmt: skip
async def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(BadRedis, match=r"REDIS_URL '.*' is no address of a Redis"):
        async with open_redis(Settings(redis_url=url), name="bot", patience_s=0):
            pytest.fail("that is no address")


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────
GOOD = {"redis_version": "7.2.4", "maxmemory": 0, "maxmemory_policy": "noeviction", "role": "master"}


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        ({}, ""),
        ({"maxmemory": 5, "maxmemory_policy": "noeviction"}, ""),
        ({"maxmemory": 0, "maxmemory_policy": "allkeys-lru"}, ""),
        ({"maxmemory": 5, "maxmemory_policy": "volatile-ttl"}, "may throw away messages: its maxmemory-policy is volatile-ttl; it must be noeviction"),
        ({"redis_version": "6.2.14"}, "is version 6.2.14; it must be at least 7.0"),
        ({"redis_version": 8.2}, ""),
        ({"redis_version": "255.255.255"}, ""),
        ({"redis_mode": "sentinel"}, "is a sentinel; use redis+sentinel://host:26379/master"),
        ({"redis_mode": "cluster"}, "is a cluster, which koi cannot use; it must be a single Redis, or one with Sentinel"),
        ({"role": "slave"}, "is a replica, which takes no writes; it must be the master"),
    ],
)  # fmt: skip
def test_a_redis_that_koi_must_not_use(info: dict[str, Any], problem: str) -> None:
    assert problem_of(GOOD | info) == problem


async def test_a_redis_that_may_evict_is_refused(tcp_port: int) -> None:
    settings = Settings(redis_url=f"redis://127.0.0.1:{tcp_port}")
    async with open_redis(settings, name="doctor") as client:
        await client.config_set("maxmemory", "100mb")
        await client.config_set("maxmemory-policy", "allkeys-lru")

    with pytest.raises(
        BadRedis, match=r"REDIS_URL 'redis://127.*' may throw away messages.*must be noeviction"
    ):
        async with open_redis(settings, name="bot"):
            pytest.fail("it may evict")


@pytest.mark.parametrize(
    ("rules", "credentials", "words"),
    [
        ("on >pw +@all ~*", "jo:wrong", "refuses the user or password in the address"),
        ("on >pw +@all ~*", "nobody:pw", "refuses the user or password in the address"),
        ("on >pw +@all -info ~*", "jo:pw", "must allow INFO to its user"),
    ],
    ids=["password", "user", "no INFO"],
)
async def test_a_user_that_may_not_enter_is_told_at_once_without_the_password(
    tcp_port: int, rules: str, credentials: str, words: str
) -> None:
    async with open_redis(Settings(redis_url=f"redis://127.0.0.1:{tcp_port}"), name="admin") as client:
        await cast("Any", client).execute_command("ACL", "SETUSER", "jo", *rules.split())

    with pytest.raises(BadRedis, match=words) as caught:
        async with open_redis(Settings(redis_url=f"redis://{credentials}@127.0.0.1:{tcp_port}"), name="bot"):
            pytest.fail("it let a stranger in")

    assert credentials.partition(":")[2] not in str(caught.value).replace("password", "")


async def test_a_redis_that_is_not_there_is_tried_for_a_while() -> None:
    settings = Settings(redis_url=f"redis://:hunter2@127.0.0.1:{free_port()}")

    with pytest.raises(BadRedis, match=r"REDIS_URL 'redis://…@127\.0\.0\.1:\d+' cannot be reached") as caught:
        async with open_redis(settings, name="bot", patience_s=0.3):
            pytest.fail("there is nothing")

    assert "hunter2" not in str(caught.value)


async def test_a_redis_that_comes_later_is_waited_for(folder: Path) -> None:
    settings = Settings(redis_url=f"unix://{folder}/late")

    async def come_up() -> str:
        async with open_redis(settings, name="bot", patience_s=20) as client:
            return "up" if await client.ping() else "down"

    waiting = asyncio.create_task(come_up())
    await asyncio.sleep(0.05)
    with running("--port", "0", "--unixsocket", f"{folder}/late", "--dir", folder, "--save", ""):
        assert await waiting == "up"


# ── lost connections ─────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_command_whose_answer_was_lost_is_not_repeated(tcp_port: int) -> None:
    async with (
        Relay(tcp_port, lose=b"INCRBY") as port,
        open_redis(Settings(redis_url=f"redis://localhost:{port}"), name="bot") as client,
    ):
        with pytest.raises(RedisConnectionError):
            await client.incr("count")

        assert await client.get("count") == b"1"


async def test_a_connection_that_died_at_rest_is_replaced_unnoticed(tcp_port: int) -> None:
    async with open_redis(Settings(redis_url=f"redis://127.0.0.1:{tcp_port}"), name="bot") as client:
        await client.ping()
        async with open_redis(Settings(redis_url=f"redis://127.0.0.1:{tcp_port}"), name="admin") as admin:
            await cast("Any", admin).execute_command("CLIENT", "KILL", "SKIPME", "yes")

        assert await client.ping()


# ── the embedded server ──────────────────────────────────────────────────────────────────────────────────────────
async def test_without_an_address_the_embedded_server_lives_as_long_as_somebody_uses_it(folder: Path) -> None:
    settings = Settings(data_dir=str(folder), queue=QueueSettings(durability="always"))

    async with open_redis(settings, name="worker") as first:
        async with open_redis(Settings(data_dir=str(folder)), name="chat") as second:
            await second.set("a", "1")
        assert await first.get("a") == b"1"
        assert len(servers_of(folder / "valkey")) == 1
        assert await first.config_get("appendfsync") == {
            "appendfsync": "everysec"
        }  # the last to open decides

    assert servers_of(folder / "valkey") == []
    async with open_redis(settings, name="worker") as again:
        assert await again.get("a") == b"1"
        assert await again.config_get("appendfsync") == {"appendfsync": "always"}


async def test_an_embedded_server_that_is_killed_comes_back_with_its_data(folder: Path) -> None:
    async with open_redis(Settings(data_dir=str(folder)), name="worker") as client:
        await client.set("a", "1")
        (server,) = servers_of(folder / "valkey")
        os.kill(server.pid, signal.SIGKILL)

        async def answered() -> bool:
            try:
                return await client.get("a") == b"1"
            except RedisError:
                return False

        await until(answered)


async def test_what_the_block_raises_reaches_the_caller_as_it_is(folder: Path) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with open_redis(Settings(data_dir=str(folder)), name="worker"):
            raise KeyError("mine")

    assert servers_of(folder / "valkey") == []


async def test_a_cancelled_block_stops_the_server_too(folder: Path) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with open_redis(Settings(data_dir=str(folder)), name="worker"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert servers_of(folder / "valkey") == []


async def test_data_that_is_still_loading_is_waited_for(folder: Path) -> None:
    slow = folder / "slow"
    slow.write_text(
        f'#!/bin/sh\nexec {BINARY} "$@" --key-load-delay 10000 --loading-process-events-interval-bytes 1024\n'
    )
    slow.chmod(0o700)
    settings = Settings(data_dir=str(folder), valkey_bin=str(slow))
    async with open_redis(settings, name="worker") as client:
        for number in range(50):
            await client.set(f"key-{number}", os.urandom(2_000))
        await cast("Any", client).bgrewriteaof()
        while (await client.info("persistence"))["aof_rewrite_in_progress"]:
            await asyncio.sleep(0.01)

    async with open_redis(settings, name="worker", patience_s=0.3) as client:
        assert await client.exists("key-49") == 1

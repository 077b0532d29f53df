"""Log lines: their form, and that neither text nor secrets get into them by any door."""

import asyncio
import io
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson
import pytest
import structlog
from arq.jobs import serialize_job
from arq.worker import Worker, func
from pydantic import SecretStr

from infra.log import start_log
from infra.redis_port import RedisPort
from schemas.memory import RingEntry

SAID = "my sister is called Zoe"
TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


def lines(output: io.StringIO) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in output.getvalue().splitlines()]


def test_elsewhere_than_on_a_terminal_a_line_is_json(output: io.StringIO) -> None:
    start_log("info", output)

    structlog.get_logger().info("turn_completed", lane="42:7:0", tools=2)

    (line,) = lines(output)
    assert list(line) == ["time", "level", "event", "lane", "tools"]
    assert (line["event"], line["tools"]) == ("turn_completed", 2)
    assert datetime.fromisoformat(line["time"]).utcoffset() is not None


def test_on_a_terminal_a_line_is_for_people() -> None:
    terminal = Terminal()
    start_log("info", terminal)

    structlog.get_logger().warning("send_failed", lane="42:7:0", part=2)

    line = terminal.getvalue()
    assert line.count("\n") == 1
    for part in ("warning", "send_failed", "lane", "42:7:0"):
        assert part in line
    assert "\x1b[" in line


def test_a_renderer_of_ones_own_gets_the_clean_fields(output: io.StringIO) -> None:
    start_log("info", output, lambda _logger, _method, event: f"{event['event']} {sorted(event)}")

    structlog.get_logger().info("bot_up", name="x")

    assert output.getvalue() == "bot_up ['event', 'level', 'name', 'time']\n"


@pytest.mark.parametrize(("level", "seen"), [("debug", 3), ("info", 2), ("quiet", 0)])
def test_the_level_decides_what_is_seen(output: io.StringIO, level: str, seen: int) -> None:
    start_log(level, output)

    log = structlog.get_logger()
    log.debug("one")
    log.info("two")
    log.error("three")

    assert len(output.getvalue().splitlines()) == seen


def fail(text: str) -> None:
    try:
        RingEntry.model_validate({"id": text})
    except ValueError as error:
        raise RuntimeError(f"cannot handle {text}") from error


@pytest.mark.parametrize("make", [io.StringIO, Terminal])
def test_a_failure_is_logged_with_its_kind_and_places_but_without_its_words(make: type[io.StringIO]) -> None:
    output = make()
    start_log("debug", output)

    try:
        fail(SAID)
    except RuntimeError:
        structlog.get_logger().exception("turn_failed")

    assert SAID not in output.getvalue()
    for part in ("turn_failed", "RuntimeError < ValidationError", "fail test_log.py:"):
        assert part in output.getvalue()


def test_a_failure_may_be_handed_over(output: io.StringIO) -> None:
    start_log("info", output)

    structlog.get_logger().warning("part_failed", exc_info=KeyError(SAID))

    (line,) = lines(output)
    assert (line["error"], line["at"]) == ("KeyError", "")
    assert SAID not in output.getvalue()


@pytest.mark.parametrize(
    "value", [f"https://api.telegram.org/bot{TOKEN}/getMe", "redis://:hunter2@h", SecretStr("hunter2"), {"a": SecretStr("hunter2")}]
)  # fmt: skip
def test_what_looks_like_a_secret_is_blotted_out(output: io.StringIO, value: object) -> None:
    start_log("info", output)

    structlog.get_logger().info("odd", value=value)

    assert not [secret for secret in ("hunter2", TOKEN[10:]) if secret in output.getvalue()]


def test_of_an_unknown_value_only_the_kind_is_logged(output: io.StringIO) -> None:
    start_log("info", output)

    structlog.get_logger().info("odd", value=ValueError(SAID))

    (line,) = lines(output)
    assert line["value"] == "ValueError"


def test_packages_are_heard_when_they_warn_without_what_they_fill_in(output: io.StringIO) -> None:
    start_log("debug", output)
    package = logging.getLogger("aiogram.event")

    package.info("Update %s is handled", SAID)
    package.error("Cannot handle %s\n%s", SAID, TOKEN)
    package.error(f"future: exception\n{SAID}")  # as asyncio does

    first, second = lines(output)
    assert (first["event"], first["level"], first["package"], first["template"]) == (
        "package_said", "error", "aiogram.event", "Cannot handle %s",
    )  # fmt: skip
    assert second["template"] == "future: exception"
    assert SAID not in output.getvalue()


def test_a_package_that_was_set_to_tell_everything_is_quiet(output: io.StringIO) -> None:
    logging.getLogger("anthropic").setLevel(logging.DEBUG)
    start_log("debug", output)

    logging.getLogger("anthropic").debug("Request options: %s", SAID)
    logging.getLogger("anthropic._base_client").info(SAID)

    assert output.getvalue() == ""


async def test_the_arguments_of_arqs_jobs_are_not_logged(redis: RedisPort, output: io.StringIO) -> None:
    start_log("debug", output)

    async def job(_context: dict[str, Any], text: str) -> None:
        raise ValueError(text)

    worker = Worker([func(job, name="job")], redis_pool=redis, burst=True, handle_signals=False)  # pyright: ignore[reportArgumentType]
    await redis.set("arq:job:x", serialize_job("job", (SAID,), {}, None, 1))
    await redis.zadd("arq:queue", {"x": 1})
    await worker.async_run()

    assert worker.jobs_failed == 1
    assert SAID not in output.getvalue()
    assert "arq.worker" in output.getvalue()


async def test_what_asyncio_complains_about_holds_no_text(output: io.StringIO) -> None:
    start_log("info", output)

    asyncio.get_running_loop().call_exception_handler(
        {"message": "Task exception was never retrieved", "exception": ValueError(SAID), "future": SAID}
    )

    (line,) = lines(output)
    assert line["template"] == "Task exception was never retrieved"
    assert line["error"] == "ValueError"
    assert SAID not in output.getvalue()


def test_half_a_character_in_a_field_does_not_fail_whoever_logs(output: io.StringIO) -> None:
    start_log("info", output)

    structlog.get_logger().warning("turn_failed", reason="sonnet: rejected (bad \ud800 type)")

    (line,) = lines(output)
    assert line["reason"] == "sonnet: rejected (bad ? type)"

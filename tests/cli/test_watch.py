"""koi.toml is changed while koi runs: what is put in force, and what people are told."""

import asyncio
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cli import signals, watch
from cli.signals import stop_on_signals
from cli.watch import Watch, lines
from infra.current import Current
from infra.settings import Settings, load_settings
from infra.settings_difference import Difference

HOME = '[[bots]]\nname = "home"\n'
WORK = '[[bots]]\nname = "work"\n'
WRONG = '[[bots]]\nnaem = "work"\n'


@dataclass
class Desk:
    """A koi.toml, and a process that looks at it."""

    file: Path
    told: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.current = Current(self.read())
        self.watch = Watch(self.current, self.file, self.read, self.told.append)

    def read(self) -> Settings:
        return load_settings({}, self.file)

    def write(self, text: str) -> None:
        self.file.write_text(text, "utf-8")

    def look_twice(self) -> None:
        self.watch.look()
        self.watch.look()

    @property
    def bots(self) -> list[str]:
        """In force."""
        return [bot.name for bot in self.current.settings.bots]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    file = tmp_path / "koi.toml"
    file.write_text(HOME)
    return Desk(file)


def test_a_bot_that_is_added_is_in_force_and_told_once(desk: Desk) -> None:
    desk.write(HOME + WORK)
    desk.look_twice()
    desk.look_twice()

    assert desk.bots == ["home", "work"]
    assert desk.told == ["Bots, as the settings say now: new: work."]


def test_nothing_is_said_or_replaced_as_long_as_nothing_changes(desk: Desk) -> None:
    before = desk.current.settings
    desk.look_twice()
    desk.write("# a comment\n" + HOME)
    desk.look_twice()

    assert desk.told == []
    assert desk.current.settings is before


def test_a_file_that_is_still_being_written_is_left_alone(desk: Desk) -> None:
    desk.write("")
    desk.watch.look()
    desk.write(HOME + WORK)
    desk.watch.look()

    assert (desk.bots, desk.told) == (["home"], [])


def test_who_asks_for_a_look_has_finished_writing(desk: Desk) -> None:
    desk.write(WORK)
    desk.watch.look(at_once=True)

    assert desk.told == ["Bots, as the settings say now: new: work; removed: home."]


def test_a_wrong_file_is_told_once_and_changes_nothing(desk: Desk) -> None:
    before = desk.current.settings
    desk.write(WRONG)
    desk.look_twice()
    desk.look_twice()

    assert desk.current.settings is before
    assert desk.told == [
        "Until this is put right, everything goes on as before: koi.toml line 2: bots[0].naem is not a setting; did you "
        "mean bots.name?"
    ]


def test_that_it_was_put_right_is_told_even_if_nothing_else_changed(desk: Desk) -> None:
    desk.write(WRONG)
    desk.look_twice()
    desk.write(HOME)
    desk.look_twice()

    assert desk.told[1:] == ["The settings are right again."]


def test_the_same_mistake_again_is_told_again(desk: Desk) -> None:
    for text in (WRONG, HOME, WRONG):
        desk.write(text)
        desk.look_twice()

    assert len(desk.told) == 3


def test_a_file_that_is_gone_is_a_mistake_and_no_farewell_to_all_bots(desk: Desk) -> None:
    desk.file.unlink()
    desk.look_twice()

    assert desk.bots == ["home"]
    assert desk.told == [
        "Until this is put right, everything goes on as before: koi.toml is not there any more"
    ]


def test_a_file_may_be_made_later(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "koi.toml")
    desk.write(HOME)
    desk.look_twice()

    assert desk.bots == ["home"]


def test_other_settings_wait_for_a_restart_and_are_told_once(desk: Desk) -> None:
    desk.write('language = "de"\n[queue]\nlease = "5s"\n' + HOME)
    desk.look_twice()
    desk.write('language = "de"\n[queue]\nlease = "5s"\n' + HOME + WORK)
    desk.look_twice()

    assert desk.current.settings.queue.lease.total_seconds() == 10
    assert desk.bots == ["home", "work"]
    assert desk.told == [
        "Changed too, but in force only after a restart: queue.lease, language.",
        "Bots, as the settings say now: new: work.",
    ]


def test_people_are_told_in_their_language() -> None:
    found = Difference(("a", "b"), ("c",), ("d",), ("queue.lease",))

    assert lines(found, "de") == [
        "Bots, wie jetzt eingestellt: neu: a, b; entfernt: c; geändert: d.",
        "Auch geändert, gilt aber erst nach einem Neustart: queue.lease.",
    ]


async def test_it_looks_by_itself_and_at_once_when_it_is_asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.01)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        serving = group.create_task(desk.watch.serve())
        desk.write(HOME + WORK)
        await desk.current.other_than(desk.current.settings)
        monkeypatch.setattr(watch, "LOOK_S", 3600)
        desk.write(WORK)
        seen = desk.current.settings
        desk.watch.look_now()
        await desk.current.other_than(seen)
        serving.cancel()

    assert desk.bots == ["work"]


@pytest.mark.parametrize("has_terminal", [True, False])
async def test_a_hangup_means_the_end_only_where_there_was_a_terminal(
    monkeypatch: pytest.MonkeyPatch, *, has_terminal: bool
) -> None:
    monkeypatch.setattr(signals, "_has_terminal", lambda: has_terminal)
    asked = asyncio.Event()

    with stop_on_signals(asked.set) as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(5):
            await (stop if has_terminal else asked).wait()

    assert (stop.is_set(), asked.is_set()) == (has_terminal, not has_terminal)

"""`koi demo`: the parcel, in fifteen seconds. The model's words are scripted; everything else is the real thing."""

import asyncio
import signal
import tempfile
import time
from contextlib import AsyncExitStack

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.apart_log import log_quiet
from cli.demo_script import ASKS, ASKS_NEXT_DAY, ASKS_OTHER_BOT, SAYS, SENDER, TRACKING
from cli.demo_stage import DemoWorker, Stage, Talk, set_stage
from cli.environment import koi_settings
from cli.faults import FAILED, Failure
from cli.texts import say
from infra.clock import system_clock
from infra.settings import Settings
from infra.texts import later
from schemas.reply import Reply

MINUTES_50, HOURS_25 = 50 * 60, 25 * 3600
FORGET_S = 5.0
LOOK_S = 0.1
LABEL_COLUMNS = 14
HELD = later("All of it held, in {seconds} s. Now try it yourself: koi chat")
NOT_HELD = later("Not all of it held ({seconds} s).")


class Demo:
    """The acts, told as they happen; each claim is checked on what is stored."""

    def __init__(self, stage: Stage, console: Console, language: str) -> None:
        self.stage = stage
        self.console = console
        self.language = language
        self.claims: list[tuple[str, bool]] = []

    # ── the acts ─────────────────────────────────────────────────────────────────────────────────────────────────
    async def play(self) -> None:
        """Start all processes, then one act after the other."""
        stage = self.stage
        victim, heir = await stage.worker(stalls=True), await stage.worker()
        await victim.heard("ready")
        in_an_hour = await stage.worker(ahead_s=MINUTES_50)
        tomorrow = await stage.worker(ahead_s=HOURS_25)
        async with AsyncExitStack() as talks:
            home, work = [await talks.enter_async_context(stage.talk(bot)) for bot in ("Home", "Work")]
            await self.survives(home, victim, heir)
            await heir.end()
            await self.remembers(home, in_an_hour)
            await self.is_known_to(work)
            await in_an_hour.end()
            await self.forgets(home, tomorrow)

    async def survives(self, talk: Talk, victim: DemoWorker, heir: DemoWorker) -> None:
        """A worker is killed in the middle of a turn; the answer still comes."""
        victim.go()
        message_id = await self.person(talk, say(self.language, ASKS), 0)
        await victim.heard("asked")
        killed_by = await victim.kill()
        self.event(say(self.language, "kill −9: the worker that was thinking about it (process {pid}) is dead", pid=victim.pid))  # fmt: skip
        began = time.monotonic()
        await heir.heard("ready")
        heir.go()
        reply = await self.bot(talk, message_id)
        seconds = f"{time.monotonic() - began:.1f}"
        self.event(say(
            self.language, "process {pid} took over and answered after {seconds} s", pid=heir.pid, seconds=seconds
        ))  # fmt: skip
        survived = killed_by == -signal.SIGKILL and TRACKING in reply.text and not reply.failed
        self.claim(say(self.language, "survives kill −9"), survived)

    async def remembers(self, talk: Talk, worker: DemoWorker) -> None:
        """50 minutes later the conversation is over, but not forgotten."""
        self.passes(say(self.language, "50 minutes later"))
        await worker.heard("ready")
        worker.go()
        message_id = await self.person(talk, say(self.language, SAYS), MINUTES_50)
        reply = await self.bot(talk, message_id)
        block, entry_ids = await talk.given()
        self.given(block)
        self.claim(say(self.language, "remembers after 50 minutes"),
                   bool(entry_ids) and TRACKING in block and TRACKING in reply.text)  # fmt: skip

    async def is_known_to(self, other: Talk) -> None:
        """A second bot of the same household was never told."""
        message_id = await self.person(other, say(self.language, ASKS_OTHER_BOT), MINUTES_50)
        reply = await self.bot(other, message_id)
        block, _ = await other.given()
        self.claim(say(self.language, "a second bot knows"), TRACKING in block and TRACKING in reply.text)

    async def forgets(self, talk: Talk, worker: DemoWorker) -> None:
        """A day later nothing of it is stored anywhere."""
        self.passes(say(self.language, "the next day, 25 hours after the first message"))
        await worker.heard("ready")
        before, _ = await self.stage.keys_with(TRACKING, SENDER)
        worker.go()
        left, searched = await self._left_after(FORGET_S)
        self.event(say(
            self.language, "keys of the store that hold the parcel: {before} before, now {left} of {searched}",
            before=len(before), left=len(left), searched=searched,
        ))  # fmt: skip
        message_id = await self.person(talk, say(self.language, ASKS_NEXT_DAY), HOURS_25)
        reply = await self.bot(talk, message_id)
        self.claim(
            say(self.language, "forgets after 24 hours"),
            bool(before) and not left and TRACKING not in reply.text,
        )

    async def _left_after(self, patience_s: float) -> tuple[list[str], int]:
        """Keys that still hold the parcel once there are none, or the patience is over; and how many there are."""
        give_up = time.monotonic() + patience_s
        while True:
            left, searched = await self.stage.keys_with(TRACKING, SENDER)
            if not left or time.monotonic() > give_up:
                return left, searched
            await asyncio.sleep(LOOK_S)

    # ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def person(self, talk: Talk, text: str, ahead_s: int) -> str:
        self._row(say(self.language, "you → {bot}", bot=talk.seat.bot), Text(text), "bold")
        return await talk.say(text, system_clock()() + ahead_s * 1000)

    async def bot(self, talk: Talk, message_id: str) -> Reply:
        reply = await talk.answer_to(message_id)
        self._row(talk.seat.bot, Text(reply.text), "bold cyan")
        return reply

    def passes(self, text: str) -> None:
        self.console.print(f"\n  ⏲  {text}", style="bold magenta")

    def event(self, text: str) -> None:
        self._row("", Text(text, "dim"))

    def given(self, block: str) -> None:
        self.event(say(self.language, "what the model was given before the message:"))
        self._row("", Padding(Text(block.strip(), "dim"), (0, 0, 0, 2)))

    def claim(self, text: str, holds: bool) -> None:
        self.claims.append((text, holds))
        self._row("", Text(f"✔ {text}", "green") if holds else Text(f"✘ {text}", "bold red"))

    def _row(self, label: str, content: RenderableType, style: str = "") -> None:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=LABEL_COLUMNS, style=style)
        grid.add_column(overflow="fold")
        grid.add_row(f"  {label}", content)
        self.console.print(grid)


@click.command()
def demo() -> int:
    """See what koi does: fifteen seconds, offline, scripted."""
    settings = koi_settings()
    log_quiet(settings.log)
    return asyncio.run(_demo(settings, Console(highlight=False)))


async def _demo(settings: Settings, console: Console) -> int:
    language, began = settings.language, time.monotonic()
    console.print("koi demo", style="bold")
    console.print(say(
        language,
        "The bots' words are scripted, no model is asked. The rest is real: the queue, the store, worker processes, "
        "the memory, and a clock that is set ahead.",
    ), style="dim")  # fmt: skip
    console.print()
    with tempfile.TemporaryDirectory(prefix="koi-demo-") as home:
        own = Settings(data_dir=home, valkey_bin=settings.valkey_bin, language=language)
        async with set_stage(own) as stage:
            acts = Demo(stage, console, language)
            try:
                await acts.play()
            except* (TimeoutError, EOFError) as error:
                raise Failure(say(language, "the demo got no answer in time")) from error
    held = all(holds for _, holds in acts.claims)
    seconds = f"{time.monotonic() - began:.1f}"
    console.print()
    console.print(
        say(language, HELD if held else NOT_HELD, seconds=seconds), style="bold green" if held else "bold red"
    )
    return 0 if held else FAILED

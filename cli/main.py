"""The `koi` command. Each subcommand is imported when it is used: `koi --help` loads none of them."""

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from cli.faults import ended_by

COMMANDS = {
    "up": (
        "cli.up:up",
        "Everything on this machine: bots, a worker, the dashboard, and the store they need.",
    ),
    "chat": ("cli.chat:chat", "Talk with koi here in the terminal."),
    "demo": ("cli.demo:demo", "See what koi does: fifteen seconds, offline, scripted."),
    "bot": ("cli.process:bot", "One process that is Telegram, in and out."),
    "worker": ("cli.process:worker", "One process that thinks."),
    "dashboard": ("cli.process:dashboard", "One process that shows it all in a browser."),
    "health": ("cli.health:health", "Is a process of this kind alive? For compose."),
    "memory": ("cli.memory:memory", "Show, export, import or forget what is remembered."),
    "export": ("cli.export:export", "Everything of a person, as JSON and as a calendar file."),
    "explain": ("cli.explain:explain", "What an answer was made of: context, model, reason, cost."),
    "dead": ("cli.dead:dead", "Messages that could not be answered: list, retry, drop."),
}
"""Name → where it is, and its line in the help."""


class LazyGroup(click.Group):
    """Knows its commands by name and help line only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        import_module("infra")  # before anything that imports redis: see there
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(import_module(module), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 — half of what `koi --help` may cost

        click.echo(f"koi {version('koi')}")
        ctx.exit()


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
              help="Show the version and exit.")  # fmt: skip
def koi() -> None:
    """A day's memory for your Telegram bots, on your own machine.

    Begin with `koi chat`, or set TELEGRAM_BOT_TOKEN and run `koi up`.
    """


def run(arguments: Sequence[str]) -> int:
    """One call of the command; gives its exit code: 0 fine, 1 failure, 2 bad configuration or usage."""
    try:
        code = koi.main(arguments, prog_name="koi", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 — the border of the process
        return ended_by(error)
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point of pyproject.toml."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

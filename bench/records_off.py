"""`koi` without the records of messages' lives: `python -m bench.records_off bot`. For bench.records only."""

import bot.life
import workers.chronicle
from cli.main import main
from infra.effect import Effect
from lanes.outcome import Commit
from schemas.life import SentLife, TurnLife


def nothing_written(_field: str, _life: TurnLife | SentLife) -> tuple[Effect, ...]:
    return ()


def as_it_is(commit: Commit, _life: TurnLife) -> Commit:
    return commit


if __name__ == "__main__":
    bot.life.written = nothing_written
    workers.chronicle.with_life = as_it_is
    main()

"""What koi's context keeps, at what length, and how fast: the table and the gate of the findings it was built by.

The dialogues are not part of the project: `--data DIR`, by default `../shared/data/context` beside it. Without them this
says so and exits 0. Exits 1 only if a line of the gate is missed, never for a time.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import context_time
from bench.report import Report, arguments, quantile

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "context"
COLUMNS = ("builder", "tokens", "coverage", "of upper bound", "source", "newest source", "ms p50", "ms p99")
PARTS = {"window": "bench.context_window", "tokens": "bench.tokens"}
GATED, RAW, WHOLE = "koi, 500", "newest exchanges raw, 500", "whole history"
CONTINUOUS_GATE, RETURN_GATE, SOURCE_GATE, RAW_GATE = 0.94, 0.85, 0.87, -0.01

type Figures = dict[str, dict[str, dict[str, float]]]
"""Set, builder, what was measured."""


def main() -> int:
    parser = arguments("What the context keeps of what a reader needs")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR")
    options = parser.parse_args()
    if not (options.data / "terms.py").exists():
        print(f"bench.context: no dialogues in {options.data}; give their folder with --data.")
        return 0
    report = Report("context", COLUMNS)
    try:
        figures = measure_blocks(options.data)
    except ImportError as error:
        print(f"bench.context: {error.name} is missing: run it with `uv run --group bench`.")
        return 2
    report.figures["blocks"] = figures
    _rows(report, figures)
    lines, report.figures["build"] = context_time.measure()
    report.notes += lines
    tables = list(_parts(report, options.data))
    gate = list(gate_lines(figures))
    report.notes += [f"{'pass' if is_met else 'MISS'} {what}" for what, is_met in gate]
    report.must_be_zero["gate lines missed"] = sum(not is_met for _, is_met in gate)
    code = report.finish(options.json)
    for table in tables:
        Console(width=None if sys.stdout.isatty() else 130).print(table)
    return code


def measure_blocks(data: Path, *, every: int = 1) -> Figures:
    """Every builder on every set.

    Raises: ImportError: the packages of the group `bench` are missing.
    """
    block = importlib.import_module("bench.context_block")
    terms = block.load_terms(data)
    figures: Figures = {}
    for name in block.SETS:
        probes = block.probes_of(data / f"{name}.dev.jsonl", every=every)
        scores = block.measure(probes, terms, name, block.BUILDERS)
        bound = fmean(scores[WHOLE].coverage)
        figures[name] = {
            builder: {
                "probes": len(score.coverage),
                "tokens": fmean(score.tokens),
                "coverage": fmean(score.coverage),
                "of_upper_bound": fmean(score.coverage) / bound,
                "source": score.mean_source(0),
                "newest_source": score.mean_source(1),
                "oldest_source": score.mean_source(2),
                "ms_p50": quantile(score.seconds, 0.5) * 1000,
                "ms_p99": quantile(score.seconds, 0.99) * 1000,
            }
            for builder, score in scores.items()
        }
    return figures


def gate_lines(figures: Figures, slack: float = 0) -> Iterator[tuple[str, bool]]:
    """Each line of the gate, and whether it is met; slack: by how much a sample may miss it."""
    from bench.context_block import CONTINUOUS, RETURN  # noqa: PLC0415 (needs the group `bench`)

    for sets, least in ((CONTINUOUS, CONTINUOUS_GATE), (RETURN, RETURN_GATE)):
        for name in sets:
            share = figures[name][GATED]["of_upper_bound"]
            yield f"{name}: coverage {share:.3f} of the upper bound ≥ {least}", share >= least - slack
    for which in ("source", "newest_source"):
        source = fmean(one[GATED][which] for one in figures.values())
        yield (
            f"{which.replace('_', ' ')} sentence, mean of the sets: {source:.3f} ≥ {SOURCE_GATE}",
            source >= SOURCE_GATE - slack,
        )
    for name, one in figures.items():
        ahead = one[GATED]["coverage"] - one[RAW]["coverage"]
        yield (
            f"{name}: coverage {ahead:+.3f} against newest exchanges raw ≥ {RAW_GATE}",
            ahead >= RAW_GATE - slack,
        )


def _rows(report: Report, figures: Figures) -> None:
    from bench.context_block import CONTINUOUS, RETURN  # noqa: PLC0415

    groups = {name: [name] for name in figures}
    groups |= {"mean, continuous": list(CONTINUOUS), "mean, return": list(RETURN), "mean, all": list(figures)}
    for title, names in groups.items():
        report.row(f"— {title} ({figures[names[0]][WHOLE]['probes']:.0f} probes)" if len(names) == 1 else f"— {title}",
                   *[""] * (len(COLUMNS) - 1))  # fmt: skip
        for builder in figures[names[0]]:
            means = {
                key: fmean(figures[name][builder][key] for name in names)
                for key in figures[names[0]][builder]
            }
            report.row(
                builder,
                round(means["tokens"]),
                *(f"{means[key]:.3f}" for key in ("coverage", "of_upper_bound", "source", "newest_source")),
                means["ms_p50"],
                means["ms_p99"],
            )


def _parts(report: Report, data: Path) -> Iterator[Table]:
    """The window inside a session and the token estimate, measured by modules of their own."""
    for name, module_name in PARTS.items():
        module: Any = importlib.import_module(module_name)
        tables, figures = module.measure(data) if name == "window" else module.measure()
        report.figures[name] = figures
        yield from tables


if __name__ == "__main__":
    sys.exit(main())

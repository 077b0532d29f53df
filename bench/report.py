"""How every bench says what it found: a table, a JSON file, the machine and the commit."""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def machine() -> str:
    """Processor, cores, memory, system."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def commit() -> str:
    """Short hash, "+" if the tree has changes."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain"], capture_output=True, text=True, check=False
    ).stdout
    return (head.stdout.strip() or "unknown") + ("+" if dirty.strip() else "")


@dataclass
class Report:
    """Rows of one bench, and the counts that must be zero."""

    name: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list[Sequence[Any]])
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    must_be_zero: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])

    def row(self, *cells: Any) -> None:
        self.rows.append(cells)

    def finish(self, json_path: Path | None) -> int:
        """Print, write, and give the exit code: 1 if a count that must be zero is not; never for a time."""
        console = Console(width=None if sys.stdout.isatty() else 130)
        table = Table(title=f"bench.{self.name}", title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for cells in self.rows:
            table.add_row(*(_cell(cell) for cell in cells))
        console.print(table)
        for name, count in self.must_be_zero.items():
            console.print(f"{'ok  ' if count == 0 else 'FAIL'} {name}: {count}", highlight=False)
        for note in self.notes:
            console.print(note, highlight=False)
        console.print(f"{machine()} · commit {commit()}", highlight=False)
        if json_path is not None:
            json_path.parent.mkdir(parents=True, exist_ok=True)
            json_path.write_text(json.dumps(self._as_json(), indent=2, ensure_ascii=False) + "\n")
        return int(any(self.must_be_zero.values()))

    def _as_json(self) -> dict[str, Any]:
        return {
            "bench": self.name,
            "machine": machine(),
            "commit": commit(),
            "figures": self.figures,
            "must_be_zero": self.must_be_zero,
            "rows": [dict(zip(self.columns, cells, strict=True)) for cells in self.rows],
            "notes": self.notes,
        }


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def arguments(description: str) -> argparse.ArgumentParser:
    """`--json FILE`, for every bench."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, default=None, metavar="FILE")
    return parser


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile (0…1) by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]

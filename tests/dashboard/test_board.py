"""The Grafana board that comes with koi asks only for what /metrics says."""

import json
import re
from pathlib import Path
from typing import Any

from dashboard.measured import CallSums, Measured
from dashboard.metrics import exposed

BOARD: dict[str, Any] = json.loads(Path("deploy/grafana/koi.json").read_text())
NAME = re.compile(r"koi_\w+")
NOTHING = Measured(0, 0, 0, 0, 0, 0, 0, {}, {}, CallSums())


def test_every_number_of_the_board_is_exposed() -> None:
    asked = {
        name
        for panel in BOARD["panels"]
        for target in panel["targets"]
        for name in NAME.findall(target["expr"])
    }
    said = exposed(NOTHING).decode()
    families = set(re.findall(r"^# TYPE (koi_\w+) ", said, re.MULTILINE))

    assert asked <= families


def test_its_panels_do_not_overlap() -> None:
    cells = [
        (column, row)
        for at in (panel["gridPos"] for panel in BOARD["panels"])
        for column in range(at["x"], at["x"] + at["w"])
        for row in range(at["y"], at["y"] + at["h"])
    ]

    assert len(cells) == len(set(cells))

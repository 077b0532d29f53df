"""What money is written as: two figures below one, rounded once."""

import pytest

from dashboard.figures import money_text
from infra.settings_sections import MoneySettings


@pytest.mark.parametrize(
    ("microusd", "text"),
    [
        (None, "–"), (0, "$0.00"), (4_120, "$0.0041"), (14_573, "$0.015"), (14_400, "$0.014"), (50_000, "$0.05"),
        (99_500, "$0.10"), (184_900, "$0.18"), (3_800_000, "$3.80"),
    ],
)  # fmt: skip
def test_money_has_two_figures_and_is_rounded_once(microusd: int | None, text: str) -> None:
    assert money_text(microusd, MoneySettings(), "en") == text

"""The estimate, corrected as a conversation goes on, is as good as promised. Needs the tokenizer of group bench."""

import pytest

pytest.importorskip("bpe_openai")


@pytest.mark.parametrize("scale", [1.0, 1.3], ids=["as o200k counts", "as Claude 5.x counts"])
def test_from_the_third_turn_on_the_payload_is_estimated_well(scale: float) -> None:
    from bench.tokens import measure  # noqa: PLC0415  imports the tokenizer

    _, figures = measure(conversations=8)

    assert figures[f"settled_x{scale}_median_error"] <= 0.05
    assert figures[f"settled_x{scale}_under"] <= 0.005

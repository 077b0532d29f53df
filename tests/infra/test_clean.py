"""The quick look that spares most texts the pattern never misses what the pattern finds."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.clean import CONTROLS, LINE_ENDS, ODD, clean

ODDITIES = st.text(st.sampled_from("a\t\n\r\0\x0b\x1f\x7f\x80\x85\x9f\xa0«°ü—😀\ud800\udc00"), max_size=6)


@settings(deadline=None)
@given(st.one_of(ODDITIES, st.text(max_size=20)))
@example("\x85")
@example("« 20 °C »")
def test_a_clean_text_is_the_same_object_and_an_odd_one_is_cleaned(text: str) -> None:
    if ODD.search(text) is None:
        assert clean(text) is text
    else:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        assert clean(text) == CONTROLS.sub("", LINE_ENDS.sub("\n", paired))
        assert ODD.search(clean(text)) is None

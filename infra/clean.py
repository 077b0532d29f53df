"""Text as it may be stored and sent on."""

import re

ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85]")
LOW_CONTROLS = bytes({*range(32), 127} - {9, 10})
C1_LEAD = b"\xc2"
"""First byte in UTF-8 of all of \x80-\x9f, and of a few signs that are no controls."""


def clean(text: str) -> str:
    r"""The same text with `\n` as its only line end, without NUL and other control characters, and valid UTF-8.

    A pair of surrogates becomes its character, a lone one U+FFFD: JSON, Redis and model services refuse them.
    """
    if not _may_be_odd(text) or ODD.search(text) is None:
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return CONTROLS.sub("", LINE_ENDS.sub("\n", text))


def _may_be_odd(text: str) -> bool:
    """False for most texts; several times faster than the pattern."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return True
    return len(raw.translate(None, LOW_CONTROLS)) < len(raw) or C1_LEAD in raw

"""Text as it may be stored and sent on."""

import re

ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85]")


def clean(text: str) -> str:
    r"""The same text with `\n` as its only line end, without NUL and other control characters, and valid UTF-8.

    A pair of surrogates becomes its character, a lone one U+FFFD: JSON, Redis and model services refuse them.
    """
    if ODD.search(text) is None:
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return CONTROLS.sub("", LINE_ENDS.sub("\n", text))

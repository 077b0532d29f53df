"""What can be read of a file that is no picture: its text, or the PDF as it is. Pure."""

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from infra.clean import clean
from infra.cut import cut
from infra.tags import disarmed
from llm.request import Document
from memory.neutralise import neutralise
from memory.summary import VISIBLE

MOST_CHARS = 40_000
"""Of a text; some 10,000 tokens."""
READ_BYTES = MOST_CHARS * 4
"""In no encoding is a character longer."""
PDF_HEAD = b"%PDF-"
LOCKED = re.compile(rb"/Encrypt\b")
"""In the trailer, which is never compressed itself unless it is a stream; then the service will say it."""
BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Not in texts, but for ESC."""
DOCUMENT_TAG = ("document",)
NO_QUOTES = str.maketrans('"<>[]', "     ")

type Fault = Literal["kind", "empty", "locked"]


@dataclass(frozen=True, slots=True)
class Read:
    """For the model."""

    document: Document
    chars: int = 0
    """Of its text, shown; 0: it is a PDF."""
    is_cut: bool = False


def read_paper(name: str, content: bytes) -> Read | Fault:
    """name: as the sender called it."""
    if not content:
        return "empty"
    if content.startswith(PDF_HEAD):
        return "locked" if LOCKED.search(content) else Read(Document(name, pdf=content))
    text = text_of(content)
    if text is None:
        return "kind"
    if not VISIBLE.search(text):
        return "empty"
    shown = cut(text, MOST_CHARS)
    is_cut = len(content) > READ_BYTES or len(shown) < len(text.strip())
    return Read(Document(name, framed(name, shown, is_cut=is_cut)), len(shown), is_cut)


def framed(name: str, text: str, *, is_cut: bool) -> str:
    """As data, in a frame that it cannot close."""
    inner = disarmed(neutralise(text), DOCUMENT_TAG)
    more = "\n[… the rest is left out]" if is_cut else ""
    return f'<document name="{plain_name(name)}">\n{inner}{more}\n</document>'


def plain_name(name: str) -> str:
    """A file's name within koi's own lines."""
    return " ".join(clean(name).translate(NO_QUOTES).split())


def text_of(content: bytes) -> str | None:
    """The beginning of a text file; None: it is none. Guesses: a mark at its beginning, UTF-8, UTF-16 without a mark, and
    Latin-1, which takes anything, so what has control characters is refused.
    """
    head = content[:READ_BYTES]
    marked = next((name for mark, name in BOMS if content.startswith(mark)), None)
    for encoding in [marked] if marked else ["utf-8", *_utf_16(head), "cp1252", "latin-1"]:
        text = _decoded(head, encoding, whole=len(head) == len(content))
        if text is not None and not CONTROLS.search(text):
            return clean(text)
    return None


def _decoded(head: bytes, encoding: str, *, whole: bool) -> str | None:
    """A character that is cut at the end of the head is left out."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, final=whole)
    except UnicodeDecodeError:
        return None


def _utf_16(head: bytes) -> list[str]:
    """Of Latin text every other byte is 0: which, says the order."""
    zeros = head.count(0)
    if zeros * 4 < len(head):
        return []
    return ["utf-16-le" if head[1::2].count(0) > zeros // 2 else "utf-16-be"]

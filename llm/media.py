"""Pictures and PDFs of a request: what they weigh, and what a model is told that cannot see them. Pure."""

import base64
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from infra.clean import clean
from llm.candidates import Capabilities
from llm.request import Document, Image, Media, Message, ModelRequest

PIXELS_PER_TOKEN = 750
"""Of a picture of at most 1,568 pixels on its long side: Anthropic, "Vision", read 2026-11-30."""
PAGE_TOKENS = 2_500
"""Of a page of a PDF, text and picture, about: Anthropic, "PDF support" (1,500 to 3,000 for the text alone)."""
BYTES_PER_PAGE = 50_000
"""For PDFs whose pages cannot be counted from outside."""
PAGE = re.compile(rb"/Type\s*/Page\b")
PDF = "application/pdf"


def image_tokens(image: Image) -> int:
    """What it will be billed as, about."""
    return math.ceil(image.width * image.height / PIXELS_PER_TOKEN)


def pdf_tokens(pdf: bytes) -> int:
    """The same of a PDF, rather too many: money is reserved by it."""
    pages = len(PAGE.findall(pdf)) or math.ceil(len(pdf) / BYTES_PER_PAGE)
    return pages * PAGE_TOKENS


def holds_media(request: ModelRequest) -> bool:
    """There is a picture or a PDF in it."""
    return any(message.has_media for message in request.messages)


def without_media(request: ModelRequest) -> ModelRequest:
    """The same with words in their place."""
    return replace(request, messages=shown_to(request.messages, Capabilities(images=False)))


def shown_to(messages: Sequence[Message], can: Capabilities) -> tuple[Message, ...]:
    """What of them a service takes; the rest in words."""
    return tuple(_shown(message, can) if message.has_media else message for message in messages)


def unseen_by(can: Capabilities, whole: ModelRequest, asked: ModelRequest) -> frozenset[Media]:
    """What of the whole request a service was not shown. asked: what was left of it."""
    if not holds_media(whole):
        return frozenset()
    return _media_in(whole.messages) - _media_in(shown_to(asked.messages, can))


def _media_in(messages: Sequence[Message]) -> frozenset[Media]:
    found = set[Media]()
    if any(message.images for message in messages):
        found.add("images")
    if any(document.pdf for message in messages for document in message.documents):
        found.add("pdfs")
    return frozenset(found)


def media_blocks(message: Message) -> list[dict[str, Any]]:
    """Documents and images, as the Messages API wants them: before the text that is about them."""
    blocks = [_document_block(document) for document in message.documents]
    return blocks + [
        {"type": "image", "source": _source(image.media_type, image.content)} for image in message.images
    ]


def _document_block(document: Document) -> dict[str, Any]:
    if document.pdf:
        return {"type": "document", "source": _source(PDF, document.pdf)}
    return {"type": "text", "text": clean(document.text)}


def _shown(message: Message, can: Capabilities) -> Message:
    notes: list[str] = []
    if message.images and not can.images:
        notes.append(_note("a picture", f"{len(message.images)} pictures", len(message.images)))
        message = replace(message, images=())
    pdfs = sum(bool(document.pdf) for document in message.documents)
    if pdfs and not can.documents:
        notes.append(_note("a PDF", f"{pdfs} PDFs", pdfs))
        message = replace(message, documents=tuple(one for one in message.documents if not one.pdf))
    if not notes:
        return message
    return replace(message, text="\n\n".join([*notes, *([message.text] if message.text else [])]))


def _note(one: str, many: str, count: int) -> str:
    return f"[Here stood {one if count == 1 else many}, which you cannot see. Say so, and do not guess what is in it.]"


def _source(media_type: str, content: bytes) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(content).decode()}

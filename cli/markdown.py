"""Markdown of models as a terminal shows it."""

import re

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.text import Text

from infra.clean import clean
from schemas.reply import Reply

CODE = re.compile(
    r"(^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)|(`+)(?!`)[^\n]*?(?<!`)\3(?!`))",
    re.DOTALL | re.MULTILINE,
)
TAG = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?|tg|mailto):)")


def rendered(reply: Reply) -> RenderableType:
    """Without control characters: a reply cannot steer the terminal."""
    text = clean(reply.text)
    return Text(text) if reply.plain else Markdown(with_visible_tags(text), hyperlinks=False)


def with_visible_tags(markdown: str) -> str:
    """Tags outside of code as text: Markdown takes them for HTML, which a terminal drops."""
    parts, end = list[str](), 0
    for code in CODE.finditer(markdown):
        parts += [TAG.sub("&lt;", markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, TAG.sub("&lt;", markdown[end:])])

"""Templates → responses: the whole page, or only the region that htmx asks for."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dashboard import texts, widgets
from dashboard.asked import THEMES, Asked, asked_by, language_of, theme_of
from dashboard.assets import static_url
from dashboard.page import Page
from dashboard.rail import rail_of
from dashboard.shared import shared_of

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """The one environment: everything is escaped, an unknown name is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    cast("dict[str, Any]", made.globals).update(widgets.FUNCTIONS, static=static_url)
    cast("dict[str, Any]", made.filters).update(widgets.FILTERS)
    return made


async def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """The page, or, when htmx asks and its target's id names a block of the template, only that block.

    A block is rendered by itself, so what it uses is imported inside it, or comes with `values`.
    """
    asked = asked_by(request)
    context = frame(asked) | around(request) | {"rail": await rail_of(asked)} | values
    found = environment().get_template(template)
    block = wanted_block(request.headers, found)
    text = block_of(found, block, context) if block else found.render(context)
    return HTMLResponse(text, status, {"Vary": "HX-Request, HX-Target, Cookie"})


def frame(asked: Asked) -> dict[str, object]:
    """What every template knows."""
    return {
        "asked": asked,
        "language": asked.language,
        "is_admin": asked.role == "admin",
        "now_ms": asked.now_ms,
        "here": asked.here,
        "shows_texts": asked.shared.settings.dashboard.show_texts,
        "stale": "",
        "query": asked.query.get("q", ""),
        "live_url": "",
        "current": "",
    }


def around(request: Request) -> dict[str, object]:
    """What only a whole page knows."""
    return {
        "theme": theme_of(request),
        "themes": THEMES,
        "languages": texts.languages(),
        "has_login": not asked_by(request).shared.door.is_open,
    }


def wanted_block(headers: Mapping[str, str], template: Template) -> str:
    """The block that htmx wants, by its header `HX-Target: tag#id`; "" for the whole page."""
    name = wanted_region(headers)
    return name if name in template.blocks else ""


def wanted_region(headers: Mapping[str, str]) -> str:
    """The name of the block that htmx wants, if there is one of that name; "" if it wants a page, or is not asking."""
    if headers.get("hx-request") != "true":
        return ""
    return headers.get("hx-target", "").partition("#")[2].replace("-", "_")


def block_of(template: Template, name: str, values: Mapping[str, object]) -> str:
    """One block of a template, rendered by itself."""
    return "".join(template.blocks[name](template.new_context(dict(values))))


def blocks_of(shown: Page, names: Iterable[str], values: Mapping[str, object]) -> dict[str, str]:
    """Some blocks of a page by name."""
    template = environment().get_template(shown.template)
    return {name: block_of(template, name, values) for name in names}


def partial(target: str, html: str, swap: str = "innerMorph") -> str:
    """What htmx puts into the element with id `target`, wherever the response goes."""
    return f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'


async def told(
    request: Request, sentence: str, *, status: int = 200, tone: str = "answered", back: str = ""
) -> Response:
    """One sentence to the person after what they did: a notice under htmx; else a page, or back to where they were."""
    if request.headers.get("hx-request") == "true":
        html = environment().get_template("notice.html").render(sentence=sentence, tone=tone)
        return HTMLResponse(partial("notice", html, "innerHTML"), status, {"HX-Reswap": "none"})
    if status < 400:
        return RedirectResponse(own_path(back), 303)
    return alone(request, "error.html", status, headline=sentence, advice="")


async def refused(request: Request, status: int, sentence: str, advice: str = "") -> Response:
    """An error in words. sentence, advice: msgids."""
    language = language_of(request, shared_of(request).settings.language)
    headline, more = texts.say(language, sentence), texts.say(language, advice) if advice else ""
    if request.headers.get("hx-request") == "true":
        return await told(request, f"{headline} {more}".strip(), status=status, tone="failed")
    return alone(request, "error.html", status, headline=headline, advice=more)


def alone(request: Request, template: str, status: int, **values: object) -> Response:
    """A page without rail and numbers, for who may not see them or when there are none."""
    language = language_of(request, shared_of(request).settings.language)
    known = {"language": language, "theme": theme_of(request)}
    return HTMLResponse(environment().get_template(template).render(known | values), status)


def own_path(path: str) -> str:
    """`path` if it leads nowhere but to this dashboard, else "/"."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_own and path.isprintable() else "/"


def safe(html: str) -> Markup:
    """HTML that was rendered here, to be put into another template."""
    return Markup(html)  # noqa: S704 — every caller passes what a template of ours rendered


def render(template: str, values: Mapping[str, Any]) -> str:
    """A template by itself."""
    return environment().get_template(template).render(values)

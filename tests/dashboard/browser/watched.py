"""A browser whose every request, error and word on the console is kept."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright

from bench.house import ADMIN

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome") or ""
needs_chromium = pytest.mark.skipif(
    not CHROMIUM,
    reason="no Chromium on this machine (Debian: apt-get install chromium); pages are not looked at",
)
WIDE: Mapping[str, int] = {"width": 1280, "height": 900}
PHONE: Mapping[str, int] = {"width": 390, "height": 844}
GRAVE = ("serious", "critical")
PATIENCE_MS = 20_000
type Theme = Literal["light", "dark"]


@dataclass(slots=True)
class Watch:
    """What went on in one browser window."""

    page: Page
    url: str
    asked: list[str] = field(default_factory=list[str])
    """Addresses of all requests."""
    troubles: list[str] = field(default_factory=list[str])
    """Errors on the console, exceptions, failed requests, answers ≥ 400."""

    @property
    def strange(self) -> list[str]:
        """Requests to anywhere but the dashboard itself."""
        own = urlsplit(self.url).netloc
        return [one for one in self.asked if urlsplit(one).scheme != "data" and urlsplit(one).netloc != own]

    async def go(self, path: str) -> None:
        """And wait until the page is there, with all that it loads."""
        await self.page.goto(self.url + path, wait_until="load")

    async def is_live(self) -> None:
        await self.page.locator("#pill .dot", has_text="Live").wait_for(timeout=PATIENCE_MS)

    async def overflow_px(self) -> int:
        """By how much the page is wider than the window."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return await self.page.evaluate(script)

    async def too_wide(self) -> list[str]:
        """Elements that stick out to the right and are not inside something that scrolls."""
        return await self.page.evaluate(STICKING_OUT)

    async def grave(self, *, only_colours: bool = False) -> list[str]:
        """What axe-core finds that shuts somebody out. only_colours: what a theme changes."""
        rules = {"runOnly": ["color-contrast"]} if only_colours else {}
        found = await Axe().run(self.page, options={"resultTypes": ["violations"], **rules})
        violations = cast("list[dict[str, Any]]", found.response["violations"])
        return [_told(one) for one in violations if one["impact"] in GRAVE]

    async def focused(self) -> str:
        """Id of the element that has the focus."""
        return await self.page.evaluate("document.activeElement?.id ?? ''")

    async def log_in(self, password: str = ADMIN) -> None:
        await self.page.goto(f"{self.url}/login")
        await self.page.fill("#password", password)
        await self.page.click("button.primary")
        await self.page.locator("#rail").wait_for()


STICKING_OUT = """() => [...document.body.querySelectorAll('*')].filter((one) => {
  const box = one.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1 || one.closest('svg, canvas, .unseen, thead, .scroll, .blocks, .u-wrap')) return false;
  return getComputedStyle(one).position !== 'fixed';
}).map((one) => `${one.tagName}.${one.className}#${one.id} ${one.textContent.slice(0, 40)}`)"""


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """Debian's, without a window."""
    async with async_playwright() as playwright:
        browser = await _launched(playwright)
        yield browser
        await browser.close()


async def _launched(playwright: Playwright) -> Browser:
    return await playwright.chromium.launch(executable_path=str(Path(CHROMIUM)))


@asynccontextmanager
async def window(
    browser: Browser, url: str, *, theme: Theme = "light", size: Mapping[str, int] = WIDE, role: str = ADMIN
) -> AsyncGenerator[Watch]:
    """A window of its own, without cookies; logged in with a password, unless it is ""."""
    context = await browser.new_context(color_scheme=theme, viewport=dict(size), locale="en-GB")  # pyright: ignore[reportArgumentType] — a TypedDict
    context.set_default_timeout(PATIENCE_MS)
    try:
        watch = await _watched(context, url)
        if role:
            await watch.log_in(role)
        yield watch
    finally:
        await context.close()


async def _watched(context: BrowserContext, url: str) -> Watch:
    watch = Watch(await context.new_page(), url)
    page = watch.page
    page.on("console", _noting(watch, lambda one: one.text if one.type == "error" else ""))
    page.on("pageerror", _noting(watch, lambda error: f"exception: {error}"))
    page.on("requestfailed", _noting(watch, lambda one: _failure(one.url, one.failure or "")))
    page.on("response", _noting(watch, lambda one: f"{one.status} {one.url}" if one.status >= 400 else ""))
    page.on("request", lambda request: watch.asked.append(request.url))
    return watch


def _noting(watch: Watch, told: Callable[[Any], str]) -> Callable[[Any], None]:
    def note(event: Any) -> None:
        if text := told(event):
            watch.troubles.append(text)

    return note


def _failure(url: str, why: str) -> str:
    """What still loads, and a live stream, end when their page is left: that is no failure."""
    return "" if "ERR_ABORTED" in why else f"failed: {url} {why}"


def _told(violation: dict[str, Any]) -> str:
    nodes = [node["html"][:160] for node in violation["nodes"][:3]]
    return f"{violation['id']} ({violation['impact']}): {violation['help']}: {nodes}"

"""Every page in a real browser, in both themes and on a phone, over what a real run made: nothing fails, nothing is fetched from
elsewhere, nothing sticks out, nobody is shut out; a reader sees everything and no button.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from bench.house import READER, House
from bench.stack import Stack
from dashboard.pages import pages
from tests.dashboard.browser.family import ANNA, BOTS, DAD, family_home
from tests.dashboard.browser.watched import PHONE, WIDE, Theme, Watch, chromium, needs_chromium, window

pytestmark = [pytest.mark.system, needs_chromium, pytest.mark.asyncio(loop_scope="module")]

LANE = f"{BOTS['home']}:{ANNA}:0"
PATHS = (
    *(page.path for page in pages()), f"/chats?lane={LANE}", f"/memory?owner=home:u:{ANNA}", "/costs?range=31d",
    "/messages?q=state:failed", "/messages?q=nonsense:x", "/failed?q=state:none",
)  # fmt: skip
THEMES: tuple[Theme, ...] = ("dark", "light")


@dataclass(frozen=True, slots=True)
class Stage:
    home: House
    browser: Browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    with Stack() as stack:
        async with family_home(stack) as home, chromium() as browser:
            yield Stage(home, browser)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_every_page_is_whole_and_nobody_is_shut_out(stage: Stage, size: Mapping[str, int]) -> None:
    wide: list[str] = []
    grave: list[str] = []
    async with window(stage.browser, stage.home.url, size=size) as watch:
        for path in PATHS:
            await watch.go(path)
            if await watch.overflow_px() > 0:
                wide += [f"{path}: {one}" for one in await watch.too_wide()] or [path]
            for theme in THEMES if size is WIDE or path in PATHS[:3] else ():
                await watch.page.emulate_media(color_scheme=theme)
                grave += [
                    f"{path}, {theme}: {one}" for one in await watch.grave(only_colours=theme == "dark")
                ]

    assert watch.troubles == []
    assert watch.strange == []
    assert wide == []
    assert grave == []


async def test_nobody_is_shut_out_of_the_login_or_the_panel(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url, role="") as watch:
        await watch.page.goto(f"{stage.home.url}/login")
        at_login = await watch.grave()
        await watch.log_in()
        await watch.go("/")
        panels = [await panel_of(watch, text) for text in ("When do the bins go out?", "and a second one")]
        await watch.go("/failed")
        panels.append(await panel_of(watch, "This cannot be answered"))

    assert at_login == []
    assert panels == [[], [], []]


async def panel_of(watch: Watch, text: str) -> list[str]:
    """What is grave with the side panel of a message; it is closed again."""
    await watch.page.locator("[data-open]", has_text=text).first.click()
    await watch.page.locator("#panel h2").wait_for()
    grave = await watch.grave()
    await watch.page.keyboard.press("Escape")
    return grave


async def test_what_people_write_is_text_and_nothing_else(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url) as watch:
        for path in ("/", "/messages", f"/memory?owner=home:u:{DAD}"):
            await watch.go(path)
            shown = await watch.page.locator("main").inner_text()

            assert '<img src="http://example.com/x.png">' in shown
            assert await watch.page.locator("main img, main script, main b b").count() == 0

    assert watch.strange == []


async def test_a_reader_sees_every_page_and_no_button_that_changes_anything(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url, role=READER) as watch:
        for path in PATHS[:-4]:
            await watch.go(path)
            actions = await watch.page.locator("form[method=post]").evaluate_all(
                "all => all.map((one) => new URL(one.action).pathname)"
            )

            assert set(actions) <= {"/look", "/logout"}, path
        tried = await watch.page.evaluate(
            "fetch('/do/pause', {method: 'POST', body: new URLSearchParams({target: '- *', sure: '1'})}).then((one) => one.status)"
        )

    assert tried == 403


async def test_the_waterfall_the_context_and_the_attempts_are_shown(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url) as watch:
        await watch.go("/messages?q=boiler")
        await watch.page.locator("[data-open]", has_text="Is the boiler on?").first.click()
        await watch.page.locator("#panel h2").wait_for()
        said = await watch.page.locator("#panel").inner_text()

    for words in (
        "rate-limited",
        "Where the time went",
        "What the model was given",
        "tokens",
        "instead of first",
    ):
        assert words in said


async def test_the_rest_of_the_pages_is_reached_on_a_phone(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url, size=PHONE) as watch:
        await watch.go("/")
        await watch.page.locator(".menu summary").click()
        await watch.page.locator(".more a", has_text="Schedules").click()
        await watch.page.locator("h1", has_text="Schedules").wait_for()

        assert "Bleed the radiators" in await watch.page.locator("main").inner_text()


async def test_german_is_chosen_on_the_page_and_stays(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url) as watch:
        await watch.go("/")
        await watch.page.locator(".menu summary").click()
        await watch.page.select_option("select[name=language]", "de")
        await watch.page.select_option("select[name=theme]", "dark")
        await watch.page.locator(".menu form[action='/look'] button").click()
        await watch.page.locator("h1", has_text="Jetzt").wait_for()
        await watch.page.goto(f"{stage.home.url}/failed")

        assert await watch.page.locator("html").get_attribute("lang") == "de"
        assert await watch.page.locator("html").get_attribute("data-theme") == "dark"

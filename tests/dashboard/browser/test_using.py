"""The pages in use in a real browser, over what a real run made: keys, side panel, search, what comes in by itself, every action,
a server that dies and comes back, login and logout.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from bench.house import ADMIN, House, is_ready
from bench.stack import Stack
from infra import keys
from infra.pause import paused
from schemas.person import Person
from schemas.wire import load
from tests.dashboard.browser.family import ANNA, BEN, BOTS, DAD, MUM, family_home
from tests.dashboard.browser.watched import PHONE, Watch, chromium, needs_chromium, window
from tests.system.koi import until

pytestmark = [pytest.mark.system, needs_chromium, pytest.mark.asyncio(loop_scope="module")]

ROW_AT = "tr.at"


@dataclass(frozen=True, slots=True)
class Stage:
    home: House
    browser: Browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    with Stack() as stack:
        async with family_home(stack) as home, chromium() as browser:
            yield Stage(home, browser)


@pytest_asyncio.fixture(loop_scope="module")
async def watch(stage: Stage) -> AsyncIterator[Watch]:
    """A window of the admin in which nothing may go wrong."""
    async with window(stage.browser, stage.home.url) as found:
        yield found
    assert found.troubles == []
    assert found.strange == []


async def press(button: Locator, watch: Watch, *, sure: bool = False) -> str:
    """Press it; gives what the page then says. sure: it must ask, and the answer is yes."""
    await watch.is_live()  # before that, a form is sent as without a script
    await button.click()
    notice = watch.page.locator("#notice .strip")
    await notice.wait_for()
    if sure:
        await notice.locator("button.sure").click()
        await notice.locator("button.sure").wait_for(state="detached")
        await notice.wait_for()
    return await notice.inner_text()


# ── keys, side panel, search ─────────────────────────────────────────────────────────────────────────────────────
async def test_keys_move_open_close_and_the_focus_comes_back(watch: Watch) -> None:
    page = watch.page
    await watch.go("/messages")

    await page.keyboard.press("j")
    await page.keyboard.press("j")
    second = await page.locator(ROW_AT).get_attribute("id")
    await page.keyboard.press("k")
    first = await page.locator(ROW_AT).get_attribute("id")
    opener = await watch.focused()
    await page.keyboard.press("Enter")
    await page.locator("#panel h2").wait_for()
    inside = await watch.focused()
    await page.keyboard.press("Escape")

    assert first != second
    assert opener == f"open-{first}"
    assert inside == "panel"
    assert await page.locator("#panel").is_hidden()
    assert await watch.focused() == opener


async def test_a_slash_searches_and_a_question_mark_tells_the_keys(watch: Watch) -> None:
    page = watch.page
    await watch.go("/messages")

    await page.keyboard.press("?")
    await page.locator("dialog#keys[open]").wait_for()
    await page.keyboard.press("Escape")
    await page.keyboard.press("/")
    in_search = await watch.focused()
    await page.keyboard.type("chat:anna state:fallback")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/messages?q=*")

    assert in_search == "q"
    assert page.url.endswith("?q=chat%3Aanna+state%3Afallback")
    assert await page.input_value("#q") == "chat:anna state:fallback"
    rows = await page.locator("#found tr[data-row]").all_inner_texts()
    assert any("Is the boiler on?" in row for row in rows)
    assert all("answered by fallback" in row and "Anna" in row for row in rows)


async def test_keys_typed_into_the_search_are_letters(watch: Watch) -> None:
    await watch.go("/messages")

    await watch.page.keyboard.press("/")
    await watch.page.keyboard.type("jkr?")

    assert await watch.page.input_value("#q") == "jkr?"
    assert await watch.page.locator(ROW_AT).count() == 0


# ── live ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_a_new_message_appears_by_itself_and_what_is_open_stays(stage: Stage, watch: Watch) -> None:
    page = watch.page
    await watch.go("/messages")
    await watch.is_live()
    loads = [one for one in watch.asked if one.endswith("/messages")]
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    at, focus = await page.locator(ROW_AT).get_attribute("id"), await watch.focused()
    await page.locator("#q").evaluate("one => one.value = 'half a sea'")

    stage.home.telegram.say(BOTS["home"], ANNA, "Heron at the pond", name="Anna")
    await page.locator("#found", has_text="Heron at the pond").wait_for()

    assert [one for one in watch.asked if one.endswith("/messages")] == loads
    assert await page.locator(ROW_AT).get_attribute("id") == at
    assert await watch.focused() == focus != ""
    assert await page.input_value("#q") == "half a sea"


async def test_an_opened_part_of_a_live_region_stays_open(stage: Stage, watch: Watch) -> None:
    page = watch.page
    await watch.go(f"/memory?owner=home:u:{ANNA}")
    await watch.is_live()
    details = page.locator("#memory details").last
    await details.locator("summary").click()
    entries = await page.locator("#memory tr[data-row]").count()

    stage.home.telegram.say(BOTS["home"], ANNA, "Otter in the brook", name="Anna")
    await expect(page.locator("#memory tr[data-row]")).to_have_count(entries + 1, timeout=20_000)

    assert await page.locator("#memory details[open]").count() == 1


async def test_paused_by_the_pill_nothing_moves_until_it_is_pressed_again(stage: Stage, watch: Watch) -> None:
    page = watch.page
    await watch.go("/")
    await watch.is_live()
    await page.click("#pill")
    await page.locator("#pill .dot", has_text="Paused").wait_for()

    stage.home.telegram.say(BOTS["home"], ANNA, "Swift over the roof", name="Anna")
    await until(lambda: "About Swift: yes." in stage.home.telegram.texts(ANNA), what="the answer")
    await page.wait_for_timeout(1500)
    before = await page.locator("#latest", has_text="Swift over the roof").count()
    await page.click("#pill")
    await page.locator("#latest", has_text="Swift over the roof").wait_for()

    assert before == 0
    await watch.is_live()


async def test_a_server_that_dies_is_said_and_its_return_too(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url) as watch:
        await watch.go("/")
        await watch.is_live()
        pill = watch.page.locator("#pill .dot")

        stage.home.dashboard.kill()
        await expect(pill).to_have_text("Reconnecting…", timeout=20_000)
        stage.home.dashboard.start()
        await until(lambda: is_ready(stage.home.url), what="the dashboard")
        await expect(pill).to_have_text("Live", timeout=30_000)
        stage.home.telegram.say(BOTS["home"], ANNA, "Kite on the wind", name="Anna")
        await watch.page.locator("#latest", has_text="Kite on the wind").wait_for()

    assert watch.strange == []


# ── actions ──────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_everything_is_paused_and_resumed_on_now(stage: Stage, watch: Watch) -> None:
    await watch.go("/")
    await watch.is_live()

    said = await press(watch.page.get_by_role("button", name="Pause all"), watch)
    is_paused = bool(await paused(stage.home.redis))
    resume = watch.page.get_by_role("button", name="Resume all")
    await resume.wait_for()
    await resume.click()
    await watch.page.get_by_role("button", name="Pause all").wait_for()

    assert said
    assert is_paused
    assert not await paused(stage.home.redis)


async def test_a_bot_is_paused_and_resumed_on_system(stage: Stage, watch: Watch) -> None:
    await watch.go("/system")
    await watch.is_live()
    line = watch.page.locator("#pauses li", has_text="lab")

    await line.get_by_role("button", name="Pause").click()
    await line.get_by_role("button", name="Resume").wait_for()
    since = (await paused(stage.home.redis)).since_ms
    await line.get_by_role("button", name="Resume").click()
    await line.get_by_role("button", name="Pause").wait_for()

    assert list(since) == [BOTS["lab"]]
    assert "pause" in await watch.page.locator("#actions").inner_text()


async def test_r_tries_a_failed_message_again(stage: Stage, watch: Watch) -> None:
    page, dead = watch.page, keys.dead()
    await watch.go("/failed")
    await watch.is_live()
    before = len(stage.home.model.requests)

    await page.keyboard.press("j")
    await page.keyboard.press("r")
    await page.locator("#notice .strip").wait_for()
    await until(lambda: len(stage.home.model.requests) > before, what="another attempt")

    assert "tried again" in await page.locator("#notice").inner_text()
    await until(lambda: _counts(stage, dead, 2), what="its second failure")


async def test_chosen_messages_are_tried_again_and_all_that_match_are_dropped(
    stage: Stage, watch: Watch
) -> None:
    page, dead = watch.page, keys.dead()
    await watch.go("/failed")
    before, told = len(stage.home.model.requests), len(stage.home.telegram.sent(MUM))

    await page.check("[data-all=target]")
    said = await press(page.get_by_role("button", name="Try the chosen again"), watch)
    await until(lambda: len(stage.home.model.requests) >= before + 2, what="both attempts")
    await until(lambda: _counts(stage, dead, 2), what="their failures")
    await watch.go("/failed?q=chat:mum")
    dropped = await press(page.get_by_role("button", name="Drop all 2"), watch, sure=True)

    assert "2 messages are tried again." in said
    assert dropped
    assert await stage.home.redis.zcard(dead) == 0
    await until(lambda: len(stage.home.telegram.sent(MUM)) >= told + 4, what="the notes to the person")
    await page.locator("#found", has_text="Nothing f").wait_for()


async def _counts(stage: Stage, key: str, wanted: int) -> bool:
    return await stage.home.redis.zcard(key) == wanted


async def test_what_waits_is_deleted_and_what_runs_is_aborted(stage: Stage, watch: Watch) -> None:
    page, told = watch.page, len(stage.home.telegram.sent(DAD))
    await watch.go("/messages?q=chat:dad")
    await watch.is_live()

    row = page.locator("tr[data-row]", has_text="and a third one")
    deleted = await press(row.get_by_role("button", name="Delete"), watch, sure=True)
    await row.wait_for(state="detached")
    await watch.go("/messages?q=chat:dad")
    running = page.locator("tr[data-row]", has_text="Write a very long story")
    aborted = await press(running.get_by_role("button", name="Stop"), watch, sure=True)
    await until(lambda: len(stage.home.telegram.sent(DAD)) >= told + 2, what="the end of the turn")

    assert deleted
    assert aborted
    await page.locator("tr[data-row]", has_text="and a second one").get_by_text("answered").wait_for()


async def test_a_turn_that_backs_off_is_run_now_on_failed(stage: Stage, watch: Watch) -> None:
    page = watch.page
    await watch.go("/failed")
    before = len(stage.home.model.requests)

    run = page.locator("#failing").get_by_role("button", name=re.compile("now", re.IGNORECASE))
    said = await press(run, watch)
    await until(lambda: len(stage.home.model.requests) > before, what="the attempt")

    assert said


async def test_a_reminder_is_sent_now_and_one_is_deleted(stage: Stage, watch: Watch) -> None:
    page = watch.page
    stage.home.telegram.say(BOTS["home"], DAD, "remind me too", name="Dad")
    await until(lambda: "I will remind you." in stage.home.telegram.texts(DAD), what="a second reminder")
    await watch.go("/schedules")
    rows = page.locator("#reminders tr[data-row]")
    await expect(rows).to_have_count(2)

    await press(rows.filter(has_text="Anna").get_by_role("button", name="Send now"), watch)
    await until(
        lambda: any("Bleed the radiators" in one for one in stage.home.telegram.texts(ANNA)), what="it"
    )
    await press(rows.filter(has_text="Dad").get_by_role("button", name="Delete"), watch, sure=True)

    await page.locator("#reminders", has_text="No reminder waits.").wait_for()


async def test_who_knocks_is_let_in_and_blocked_again(stage: Stage, watch: Watch) -> None:
    page = watch.page
    await watch.go("/people")

    await press(page.locator("#waiting li", has_text="Ben").get_by_role("button", name="Let in"), watch)
    row = page.locator("#people tr", has_text="Ben")
    await row.wait_for()
    role = load(Person, await stage.home.redis.hget(keys.people(), str(BEN)) or b"").role
    await press(row.get_by_role("button", name="Block"), watch, sure=True)

    assert role == "member"
    await page.locator("#people tr", has_text="Ben").get_by_text("blocked").wait_for()


async def test_an_entry_is_forgotten_and_then_all(stage: Stage, watch: Watch) -> None:
    page, ring = watch.page, keys.ring(f"home:u:{ANNA}")
    await watch.go(f"/memory?owner=home:u:{ANNA}")
    before = await stage.home.redis.llen(ring)

    entry = page.locator("#memory tr[data-row]", has_text="Where is the parcel?")
    await press(entry.get_by_role("button", name="Forget"), watch, sure=True)
    await entry.wait_for(state="detached")
    after = await stage.home.redis.llen(ring)
    await press(page.get_by_role("button", name="Forget all"), watch, sure=True)
    await page.locator("#memory", has_text="Nothing is remembered here.").wait_for()
    await watch.go("/messages?q=chat:anna")

    assert after == before - 1
    assert await stage.home.redis.llen(ring) == 0
    said = await page.locator("#found").inner_text()
    assert "text no longer kept" in said
    assert "Heron" not in said


# ── the door ─────────────────────────────────────────────────────────────────────────────────────────────────────
async def test_nobody_comes_in_without_the_password_and_out_is_out(stage: Stage) -> None:
    async with window(stage.browser, stage.home.url, role="", size=PHONE) as watch:
        page = watch.page
        await page.goto(f"{stage.home.url}/costs")
        await page.fill("#password", "wrong")
        await page.click("button.primary")
        trouble = await page.locator("#trouble").inner_text()
        await page.fill("#password", ADMIN)
        await page.click("button.primary")
        await page.locator("h1", has_text="Costs").wait_for()
        await page.locator(".menu summary").click()
        await page.get_by_role("button", name="Log out").click()
        await page.locator("#password").wait_for()
        await page.goto(f"{stage.home.url}/people")

        assert trouble
        assert await page.locator("#password").count() == 1
        assert "Anna" not in await page.locator("body").inner_text()

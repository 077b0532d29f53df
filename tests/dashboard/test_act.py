"""POST /do/NAME: asked before, done once, said in words, written into the audit log; never by GET or as reader."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import urlencode

import httpx
import pytest

from dashboard import audit, pages
from dashboard.actions import Act, DeleteWaiting, DropDead, Pause, RetryDead, field_of, stamp_of
from dashboard.asked import Asked
from dashboard.pages.act import AT_ONCE, MOST
from infra import keys
from infra.dead import index_member
from infra.pause import paused
from infra.redis_port import RedisPort
from schemas.dead import DeadLetter
from schemas.inbound import InboundMessage
from schemas.life import Action
from schemas.wire import dump
from tests.dashboard.house import NOW_MS, OWN, PASSWORDS, shared_by
from tests.dashboard.house import browser as opened

OWNER, JOB = "home:u:42", "in:7:42:0"
FROM_A_PAGE = {**OWN, "Content-Type": "application/x-www-form-urlencoded"}
HTMX = {**FROM_A_PAGE, "HX-Request": "true"}


@pytest.fixture
async def browser(redis: RedisPort) -> AsyncIterator[httpx.AsyncClient]:
    async with opened(await shared_by(redis, {})) as found:
        yield found


async def dead(redis: RedisPort, count: int = 1) -> list[DropDead]:
    """Dead letters; what drops them."""
    acts: list[DropDead] = []
    async with redis.pipeline() as pipe:
        for number in range(count):
            message = InboundMessage(
                id=f"7:{number}",
                bot_id="7",
                bot="parcels",
                chat_id="42",
                user_id="42",
                sent_at_ms=1,
                text="secret",
            )
            letter = DeadLetter(
                id=message.id, job_id=JOB, at_ms=number, reason="?", body=dump(message).decode(), owner=OWNER
            )
            pipe.hset(keys.dead_of(OWNER), letter.id, dump(letter))
            pipe.zadd(keys.dead(), {index_member(letter): letter.at_ms})
            acts.append(DropDead(OWNER, letter.id, stamp_of(dump(letter))))
        await pipe.execute()
    return acts


def retry(act: DropDead) -> RetryDead:
    return RetryDead(act.owner, act.item_id, act.seen)


async def post(
    browser: httpx.AsyncClient, name: str, acts: Sequence[Act] = (), *, htmx: bool = True, **fields: str
) -> httpx.Response:
    pairs = [("target", field_of(act)) for act in acts] + list(fields.items())
    return await browser.post(f"/do/{name}", content=urlencode(pairs), headers=HTMX if htmx else FROM_A_PAGE)


async def test_a_selection_is_done_said_and_written_down(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    acts = [retry(act) for act in await dead(redis, 3)]

    answer = await post(browser, "retry", acts)

    assert (answer.status_code, "3 messages are tried again." in answer.text) == (200, True)
    assert await redis.llen(keys.items(JOB)) == 3
    assert await audit.newest(redis, 10) == [
        Action(
            at_ms=NOW_MS, who="admin 10.0.0.7", action="retry", count=3, outcome="done",
            target=f"{OWNER}|7:0 {OWNER}|7:1 {OWNER}|7:2",
        )
    ]  # fmt: skip


async def test_a_repeated_click_is_a_conflict_in_words_and_changes_nothing(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    acts = [retry(act) for act in await dead(redis)]
    await post(browser, "retry", acts)

    again = await post(browser, "retry", acts)

    assert (again.status_code, "1 was not there any more." in again.text) == (409, True)
    assert await redis.llen(keys.items(JOB)) == 1
    assert [record.outcome for record in await audit.newest(redis, 10)] == ["changed", "done"]


async def test_of_some_that_changed_the_others_are_done(browser: httpx.AsyncClient, redis: RedisPort) -> None:
    first, second = [retry(act) for act in await dead(redis, 2)]
    await post(browser, "retry", [first])

    answer = await post(browser, "retry", [first, second])

    assert answer.status_code == 200
    assert "1 message is tried again. 1 was not there any more." in answer.text


@pytest.mark.parametrize("htmx", [True, False], ids=["htmx", "no script"])
async def test_what_cannot_be_taken_back_is_asked_about_first(
    browser: httpx.AsyncClient, redis: RedisPort, htmx: bool
) -> None:
    acts = await dead(redis, 2)

    asked = await post(browser, "drop", acts, htmx=htmx, back="/failed")

    assert asked.status_code == 200
    assert "Drop 2 messages for good?" in asked.text
    assert "secret" not in asked.text
    assert await redis.hlen(keys.dead_of(OWNER)) == 2
    assert await audit.newest(redis, 10) == []
    targets = asked.text.partition("hidden readonly>")[2].partition("</textarea>")[0]
    sure = await post(browser, "drop", htmx=htmx, targets=targets, sure="1", back="/failed")
    assert (sure.status_code, sure.headers.get("location")) == ((200, None) if htmx else (303, "/failed"))
    assert await redis.hlen(keys.dead_of(OWNER)) == 0


@pytest.mark.parametrize("name", ["drop", "delete", "abort", "forget"])
async def test_every_destructive_act_is_asked_about(browser: httpx.AsyncClient, name: str) -> None:
    target = {"abort": "t1 7:42:0", "delete": f"s {JOB}|7:1"}.get(name, f"s {OWNER}|7:1")

    asked = await post(browser, name, target=target)

    assert 'name="sure" value="1"' in asked.text


async def test_all_that_match_are_asked_about_with_their_number_and_exactly_those_are_done(
    browser: httpx.AsyncClient, redis: RedisPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts = [retry(act) for act in await dead(redis, 3)]

    async def found(_: Asked, query: str) -> Sequence[Act]:
        assert query == "state:failed"
        return acts[:2]

    monkeypatch.setattr(pages, "matching", lambda: {"retry": found})
    asked = await post(browser, "retry", query="state:failed", sure="1")

    assert "Try 2 messages again?" in asked.text
    assert await redis.llen(keys.items(JOB)) == 0
    targets = asked.text.partition("hidden readonly>")[2].partition("</textarea>")[0]
    await post(browser, "retry", targets=targets, sure="1")
    assert await redis.hkeys(keys.dead_of(OWNER)) == [b"7:2"]


async def test_five_thousand_at_once_are_done_and_one_more_is_refused_with_one_sentence(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    acts = [retry(act) for act in await dead(redis, MOST)]
    lines = [field_of(act) for act in acts]

    more = await post(browser, "retry", targets="\n".join([*lines, field_of(RetryDead(OWNER, "x", "s"))]))

    assert more.status_code == 400
    assert "That would be more than 5000 at once. Narrow the filter; nothing was changed." in more.text
    assert await redis.hlen(keys.dead_of(OWNER)) == MOST
    answer = await post(browser, "retry", targets="\n".join(lines))
    assert "5000 messages are tried again." in answer.text
    assert await redis.lrange(keys.items(JOB), 0, -1) == [f"1:{act.item_id}".encode() for act in acts]
    records = await audit.newest(redis, MOST)
    assert (len(records), sum(record.count for record in records)) == (MOST // AT_ONCE, MOST)


async def test_the_same_target_twice_is_one_act(browser: httpx.AsyncClient, redis: RedisPort) -> None:
    (act,) = await dead(redis)

    answer = await post(browser, "retry", [retry(act), retry(act)])

    assert "1 message is tried again." in answer.text
    assert "not there" not in answer.text


@pytest.mark.parametrize(
    ("name", "fields", "status"),
    [
        ("explode", {"target": "- x"}, 404),
        ("retry", {"target": "nonsense"}, 400),
        ("retry", {}, 400),
        ("retry", {"query": "x"}, 400),
        ("run", {"target": "- koi:people"}, 400),
    ],
)
async def test_no_form_of_ours_changes_nothing(
    browser: httpx.AsyncClient, redis: RedisPort, name: str, fields: dict[str, str], status: int
) -> None:
    form = urlencode(fields)

    answer = await browser.post(f"/do/{name}", content=form, headers=HTMX)

    assert answer.status_code == status
    assert [key async for key in redis.scan_iter()] == [keys.dashboard_secret().encode()]


async def test_no_act_works_by_get(browser: httpx.AsyncClient, redis: RedisPort) -> None:
    answer = await browser.get(f"/do/pause?target={field_of(Pause('7'))}&sure=1")

    assert answer.status_code == 405
    assert not await paused(redis)


@pytest.mark.parametrize(
    ("origin", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200)]
)
async def test_no_act_works_from_another_origin(
    browser: httpx.AsyncClient, redis: RedisPort, origin: str, status: int
) -> None:
    form = urlencode({"target": field_of(Pause("7"))})

    answer = await browser.post("/do/pause", content=form, headers={**HTMX, "Sec-Fetch-Site": origin})

    assert answer.status_code == status
    assert bool(await paused(redis)) is (status == 200)


@pytest.mark.parametrize(("role", "status"), [("", 401), ("reader", 403), ("admin", 200)])
async def test_no_act_works_without_login_or_as_reader(
    redis: RedisPort, role: str, status: int
) -> None:  # C49
    async with opened(await shared_by(redis, PASSWORDS), role=role) as browser:
        answer = await post(browser, "pause", [Pause("7")])

    assert answer.status_code == status
    assert bool(await paused(redis)) is (status == 200)


async def test_an_act_is_done_though_the_audit_log_cannot_be_written(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    await redis.set(keys.audit(), "no stream")

    assert (await post(browser, "pause", [Pause("7")])).status_code == 200
    assert await paused(redis)


async def test_with_redis_away_the_page_says_that_nobody_knows(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    redis.connection_pool.connection_kwargs["path"] = "/nonexistent"
    await redis.connection_pool.disconnect()
    redis.connection_pool.reset()

    answer = await post(browser, "retry", [RetryDead(OWNER, "7:1", "s")])

    assert answer.status_code == 503
    assert "Redis did not answer" in answer.text


async def test_what_was_said_is_in_the_language_of_whoever_looks(
    browser: httpx.AsyncClient, redis: RedisPort
) -> None:
    browser.cookies.set("koi_language", "de")

    answer = await post(browser, "delete", [DeleteWaiting(JOB, "7:1", "s")], sure="1")

    assert answer.status_code == 409
    assert "1 war nicht mehr da." in answer.text


async def test_the_audit_log_is_bounded_and_ends(redis: RedisPort) -> None:
    record = Action(at_ms=1, who="admin ::1", action="pause", target="7")
    for _ in range(11):
        await audit.note(redis, [record.model_copy(update={"count": n + 1}) for n in range(1000)])

    found = await audit.newest(redis, 20_000)

    assert 10_000 <= len(found) <= 10_200
    assert found[0].count == 1000
    assert await redis.pttl(keys.audit()) > 399 * 86_400_000
    await redis.xadd(keys.audit(), {"action": b'{"v":9}'})
    await redis.xadd(keys.audit(), {"else": b"?"})
    assert len(await audit.newest(redis, 3)) == 1

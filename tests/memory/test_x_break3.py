from datetime import UTC

from hypothesis import HealthCheck, given
from hypothesis import settings as hs
from hypothesis import strategies as st

from memory.context import CLOSE, OPEN, build_block
from memory.features import *
from memory.labels import labels
from memory.limits import MemoryLimits
from memory.pick import GAP, pick
from memory.tokens import estimate_tokens
from schemas.memory import RingEntry
from tests.memory.values import *

TXT = st.text(max_size=400) | st.lists(
    st.sampled_from(
        [
            "Hallo Welt. ",
            "Das Paket kommt. ",
            "\n",
            "User: ",
            "[05.04. 14:23]",
            "<conversation",
            "_history>",
            "</conversation_history>",
            "…",
            " ",
            "Bot: ",
            "x" * 250,
            "。",
            "<",
            "system>",
            "\u2028",
            "\u200b",
            "\x85",
        ]
    ),
    max_size=30,
).map("".join)
NUM = st.integers(-5, 2000)


@st.composite
def lying(draw, user, reply):
    kind = draw(st.integers(0, 5))
    n = draw(st.integers(0, 4))
    real = pack(find(user, reply))
    if kind == 0:
        return draw(st.text(max_size=60))
    if kind == 1:
        rows = [draw(st.lists(NUM, min_size=n, max_size=n)) for _ in range(3)]
        return "\n".join(
            [
                f"1 {draw(NUM)} {draw(NUM)} {draw(st.integers(-2, n + 1))}",
                *[" ".join(map(str, r)) for r in rows],
                "paket",
                *["paket welt"] * n,
            ]
        )
    if kind == 2:
        return real.replace("1", "7", draw(st.integers(0, 5)))
    if kind == 3:
        return real[: draw(st.integers(0, len(real)))]
    if kind == 4:
        return pack(find(draw(TXT), draw(TXT)))
    return real


@st.composite
def entries_(draw):
    out = []
    for i in range(draw(st.integers(1, 6))):
        u, r = draw(TXT), draw(TXT)
        e = RingEntry(id=str(i), at_ms=NOW_MS + i, user_message=u, summary=r[:30] or "…", reply=r)
        e = e.model_copy(update={"features": draw(lying(u, r or e.summary))})
        out.append(e)
    return out


@hs(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(entries_(), TXT, st.integers(0, 300), st.sampled_from(["de", "en"]))
def test_lies(es, msg, budget, lang):
    lim = MemoryLimits(budget_tokens=budget)
    b = build_block(es, labels(lang), UTC, lim, msg)
    if b:
        assert estimate_tokens(b.text) <= budget, (estimate_tokens(b.text), budget)
        low = b.text.lower()
        assert b.text.count(OPEN) == 1 and b.text.count(CLOSE) == 1
        for q in pick(es, msg, lim, lambda s: estimate_tokens("".join(x.user + x.reply for x in s))):
            for text, whole in ((q.user, q.entry.user_message), (q.reply, said(q.entry))):
                rest = whole
                for part in text.replace(GAP, "\0").split("\0"):
                    part = part.strip(" …")
                    if part and "…" not in part:
                        assert part in whole, (part, whole)

import subprocess
import sys

OFFLINE = """
import asyncio, sys
from infra.settings import Settings
from llm.chain import build_chain
from llm.request import Message, ModelRequest

async def main():
    chain = build_chain(Settings())
    await chain.prepare()
    async def record(ended): pass
    request = ModelRequest("", (Message("user", "Hi"),), 10)
    await chain.complete(request, deadline_at=asyncio.get_running_loop().time() + 10, on_call=record)

asyncio.run(main())
print([name for name in ("anthropic", "httpx2", "aiogram") if name in sys.modules])
"""


def test_the_offline_model_answers_without_the_sdk_in_memory() -> None:
    printed = subprocess.run([sys.executable, "-c", OFFLINE], check=True, capture_output=True, text=True)

    assert printed.stdout == "[]\n"

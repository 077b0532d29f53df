"""Recorded turns in a few bytes, to keep many of them in memory. Pure."""

import zlib

from schemas.life import TurnLife
from schemas.wire import load

USUAL = (
    b'{"id":"-:","lane":":0","owner":"home:u:","bot":"","user_id":"","message_ids":[":"],"state":"answered","sent_ms":17'
    b',"received_ms":17,"taken_ms":17,"built_ms":17,"committed_ms":17,"attempts":[{"model":"claude-sonnet-5-5","service":'
    b'"anthropic","outcome":"rate_limited","detail":"HTTP 429","ended_ms":17,"took_ms":}],"tools":[{"name":"","outcome":'
    b'"done","ended_ms":17,"took_ms":}],"failures":,"reason":"","asked":"claude-sonnet-5-5","asked_service":"anthropic",'
    b'"model":"claude-haiku-5-5","service":"anthropic","why":"short_request","tier":"strong","input_tokens":,'
    b'"output_tokens":,"cost_microusd":,"session_id":"","exchange":,"entry_ids":[""],"reply_ids":[":answer"]}'
)
"""What records look like, so that short ones compress well too: to about 250 bytes."""


def pack(life: TurnLife) -> bytes:
    """Without what is as by default, compressed."""
    packer = zlib.compressobj(level=4, zdict=USUAL)
    return packer.compress(life.__pydantic_serializer__.to_json(life, exclude_defaults=True)) + packer.flush()


def unpack(packed: bytes) -> TurnLife:
    """What `pack` was given."""
    return load(TurnLife, zlib.decompressobj(zdict=USUAL).decompress(packed))

"""How a message gets into its inbox lane, and a reply into its outbox lane. Pure."""

from infra import keys
from infra.effect import Push
from schemas.inbound import InboundMessage
from schemas.reply import Reply
from schemas.wire import dump


def push_message(message: InboundMessage, hold_ms: int = 0) -> Push:
    """hold_ms: it may be only a part, wait so long for the rest; a command is whole, and a turn of its own."""
    solo = message.kind == "command"
    return Push(
        job_id=keys.inbox_job(message.lane),
        queue=keys.inbox_queue(),
        item_id=message.id,
        body=dump(message),
        owner=message.owner,
        solo=solo,
        hold_ms=0 if solo else hold_ms,
    )


def push_reply(reply: Reply) -> Push:
    """To whoever sends for its bot."""
    return Push(
        job_id=keys.outbox_job(reply.lane),
        queue=keys.outbox_queue(reply.bot_id),
        item_id=reply.id,
        body=dump(reply),
        owner=reply.owner,
    )

"""How an edited message is told to its lane. Pure."""

from infra import keys
from lanes.amend import Amendment
from schemas.inbound import InboundMessage
from schemas.wire import dump

COMMAND = '"kind":"command"'
"""How a body says that it is a command: what that does was decided when it was sent, and no edit changes it."""
EDIT = '"edited":true'
NEWER = frozenset(name for name, field in InboundMessage.model_fields.items() if field.exclude_if is not None)
"""Fields of version 2."""


def amendment(message: InboundMessage) -> Amendment:
    """message: with `edited`. In the place of a message that waits stands a message; only in that of an edit, an edit."""
    original = message.model_copy(update={"edited": False})
    if not original.model_fields_set & NEWER - {"edited"}:
        original = original.model_copy(update={"v": 1})
    return Amendment(
        job_id=keys.inbox_job(message.lane),
        item_id=message.id,
        body=dump(original),
        marked=dump(message),
        names=f'"message_id":{message.message_id},',
        never=COMMAND,
        mark=EDIT,
    )

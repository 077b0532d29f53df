"""What a person sent, as the bot hands it to the workers."""

from typing import ClassVar, Literal

from pydantic import Field

from schemas.wire import WireModel


def _is_unset(value: object) -> bool:
    """A field of version 2 that is not written: a worker of the release before refuses fields that it does not know."""
    return value is False or value in ("", None, ())  # 0.0 is False, and a place


class Attachment(WireModel):
    """A file that was sent. It stays with Telegram; who needs it asks the bot for it (infra.files)."""

    kind: Literal["photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker"]
    file_id: str
    """Of this bot; of a photo its largest size."""
    unique_id: str = ""
    """The same for the same file, whoever sends it."""
    size_bytes: int = 0
    """0: Telegram did not say."""
    mime: str = ""
    name: str = ""
    """Of a document; of a sticker its emoji."""


class InboundMessage(WireModel):
    """One message of one person in one chat. Its text may be ""; then `media` says what it was."""

    newest: ClassVar[int] = 2
    v: Literal[1, 2] = 1
    """Written as 1 as long as nothing newer is in it."""
    id: str
    """`{bot_id}:{update_id}`: what is claimed once, and what a reply says it answers."""
    bot_id: str
    """Digits before the colon of the bot's token, or "local" for the terminal."""
    bot: str
    """The bot's name in koi.toml, else its Telegram username."""
    store: str = "home"
    """The memory store this bot belongs to."""
    chat_id: str
    """Telegram's chat id as text, or "local:NAME"."""
    topic_id: int = 0
    """Forum topic; 0 for none and for General."""
    chat_kind: Literal["private", "group"] = "private"
    user_id: str
    """Telegram's user id as text, or "local:NAME"."""
    user_name: str = ""
    language: str = "en"
    """Language of the person's Telegram, two letters."""
    message_id: int = 0
    """Telegram's number of the message within its chat."""
    sent_at_ms: int
    """When the person sent it, by Telegram's clock, ms since 1970."""
    text: str = ""
    kind: Literal["text", "command", "unsupported"] = "text"
    command: str = ""
    """Name without slash and @bot, lower case; only for kind "command"."""
    argument: str = ""
    """What stands behind the command."""
    media: str = ""
    """For kind "unsupported": voice, photo, document, ... as Telegram names it."""
    forgot: int | None = None
    """For /forget: how many entries and facts were removed when it was admitted; None: nothing was to be removed."""

    forwarded_from: str = Field(default="", exclude_if=_is_unset)
    """Version 2. Whose words these are, if the sender forwarded them: a name; "" for their own words."""
    latitude: float | None = Field(default=None, exclude_if=_is_unset)
    """Version 2. Of a location or venue that was sent, degrees."""
    longitude: float | None = Field(default=None, exclude_if=_is_unset)

    attachments: tuple[Attachment, ...] = Field(default=(), exclude_if=_is_unset)
    """Version 2. In the order they were sent; the items of an album come as messages of their own."""
    album: str = Field(default="", exclude_if=_is_unset)
    """Version 2. Which album it is an item of."""
    shared: str = Field(default="", exclude_if=_is_unset)
    """Version 2. A contact, poll, venue or the like in words, one line."""
    replied_text: str = Field(default="", exclude_if=_is_unset)
    """Version 2. What it is a reply to: the quoted part, else the beginning of that message; not, if it is the bot's last."""
    replied_from: str = Field(default="", exclude_if=_is_unset)
    """Version 2. Who wrote that: a name; "bot" for this bot."""
    replied_message_id: int | None = Field(default=None, exclude_if=_is_unset)
    """Version 2."""
    edited: bool = Field(default=False, exclude_if=_is_unset)
    """Version 2. The new text of a message that was answered before (its `message_id` says which)."""
    reaction: str = Field(default="", exclude_if=_is_unset)
    """Version 2. Kind "command": which emoji the person put on the answer; the command says what it means."""

    of_its_own: bool = Field(default=False, exclude_if=_is_unset)
    """Version 2. The bot has a persona or models of its own: only a worker that knows them may answer."""

    @property
    def lane(self) -> str:
        """`bot:chat:topic`: messages of one lane are answered one turn at a time, in order."""
        return f"{self.bot_id}:{self.chat_id}:{self.topic_id}"

    @property
    def owner(self) -> str:
        """Whose memory this belongs to: a person of a store, or a topic of a group."""
        if self.chat_kind == "private":
            return person_owner(self.store, self.user_id)
        return group_owner(self.store, self.chat_id, self.topic_id)


def person_owner(store: str, user_id: str) -> str:
    """The memory owner of a person's private talks with all bots of a store."""
    return f"{store}:u:{user_id}"


def group_owner(store: str, chat_id: str, topic_id: int) -> str:
    """The memory owner of one group topic."""
    return f"{store}:g:{chat_id}:{topic_id}"


def person_of(owner: str) -> str:
    """The person whose memory it is, as InboundMessage.user_id; "" for a group topic's."""
    return owner.partition(":u:")[2]

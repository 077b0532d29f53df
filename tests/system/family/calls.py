"""Calls of the Bot API, those that were seen and those that are expected, as lines that can be compared.

In an expected line ‹time› stands for a time of day, ‹words› for as much of a long answer as there was, ‹tap› for the id of
a tap, and ‹code:NAME› for the code of that person or group: any code the first time, that one from then on, with or
without its dash.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.fakes.telegram_state import Call

PLACE = re.compile("‹([^›]+)›")
KINDS = {"time": r"\d\d:\d\d", "words": r"(?:word ?)+", "tap": r"\d+"}
CODE = "[A-Z2-9]{4}-?[A-Z2-9]{4}"
PACING = frozenset({"getUpdates", "sendChatAction", "sendMessageDraft"})
"""How many of these there are depends on how long things take; the tests have rules for them instead."""
UNHURRIED = frozenset({"setMyCommands"})
"""They come when they come: a bot looks every five seconds whether there is another owner. Looked at over the whole day."""
OK = 200

type Rows = Sequence[Sequence[tuple[str, str]]]
"""Of buttons: (text, command)."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One call, with all its parameters."""

    bot_id: str
    method: str
    fields: Mapping[str, Any]
    status: int = OK
    """What Telegram answered."""

    @property
    def stream(self) -> str:
        return stream_of(self.bot_id, self.method, self.fields)

    @property
    def line(self) -> str:
        return line_of(self.bot_id, self.method, self.fields, self.status)


@dataclass(frozen=True, slots=True)
class Bot:
    """Who is expected to call."""

    id: str
    name: str

    @property
    def username(self) -> str:
        """As the fake Telegram has it."""
        return f"koi{self.id}_bot"

    def sends(
        self, chat_id: int, text: str, *, buttons: Rows = (), status: int = OK, **more: Any
    ) -> Expected:
        """sendMessage. more: entities, message_thread_id."""
        return Expected(
            self.id, "sendMessage", {"chat_id": chat_id, "text": text, **_markup(buttons), **more}, status
        )

    def uploads(self, chat_id: int, name: str, content: str) -> Expected:
        """sendDocument, a form: there all is text."""
        document = {"name": name, "content": content}
        fields = {"chat_id": str(chat_id), "disable_content_type_detection": "true", "document": document}
        return Expected(self.id, "sendDocument", fields)

    def fetches(self, file_id: str) -> tuple[Expected, Expected]:
        """getFile, and the file itself."""
        fields = {"file_id": file_id}
        return Expected(self.id, "getFile", fields), Expected(self.id, "download", fields)

    def hears_the_tap(self) -> Expected:
        return Expected(self.id, "answerCallbackQuery", {"callback_query_id": "‹tap›"})

    def offers(self, scope: Mapping[str, Any], commands: str, language: str = "") -> Expected:
        """setMyCommands. commands: their names."""
        fields = {"scope": scope, "commands": commands} | ({"language_code": language} if language else {})
        return Expected(self.id, "setMyCommands", fields)

    def calls(self, method: str, **fields: Any) -> Expected:
        return Expected(self.id, method, fields)


def _markup(buttons: Rows) -> Mapping[str, Any]:
    rows = [[{"text": text, "callback_data": command} for text, command in row] for row in buttons]
    return {"reply_markup": {"inline_keyboard": rows}} if rows else {}


def stream_of(bot_id: str, method: str, fields: Mapping[str, Any]) -> str:
    """Calls of one stream have an order among themselves, others have none: one bot's in a chat, for a file, of a kind."""
    where = fields.get("chat_id") or fields.get("file_id") or method
    return f"{bot_id} {where}"


def line_of(bot_id: str, method: str, fields: Mapping[str, Any], status: int) -> str:
    """Everything in one line."""
    shown = "; ".join(
        f"{name}: {orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
        for name, value in sorted(fields.items())
    )
    refused = "" if status == OK else f" → {status}"
    return f"{bot_id} {method} {shown}{refused}"


def line_of_call(call: Call) -> str:
    """Of a command in a menu, its name: what it is described as is another test's."""
    fields = call.fields
    if call.method == "setMyCommands":
        fields = {**fields, "commands": " ".join(one["command"] for one in fields["commands"])}
    return line_of(call.bot_id, call.method, fields, call.status)


def counted(calls: Iterable[Call]) -> list[Call]:
    """All but those that only keep the pace."""
    return [call for call in calls if call.method not in PACING]


def hurried[C: (Call, Expected)](calls: Iterable[C]) -> list[C]:
    """Those that come at once."""
    return [call for call in calls if call.method not in UNHURRIED]


def by_stream(calls: Iterable[Call]) -> dict[str, list[str]]:
    streams = dict[str, list[str]]()
    for call in counted(calls):
        stream = stream_of(call.bot_id, call.method, call.fields)
        streams.setdefault(stream, []).append(line_of_call(call))
    return streams


@dataclass
class Codes:
    """Those that were seen, by name."""

    known: dict[str, str] = field(default_factory=dict[str, str])

    def filled(self, expected: Iterable[Expected], seen: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The expected lines by stream, each as it was seen if it says the same."""
        streams = dict[str, list[str]]()
        for one in expected:
            lines = streams.setdefault(one.stream, [])
            there = seen.get(one.stream, ())
            found = there[len(lines)] if len(lines) < len(there) else ""
            lines.append(found if self.means(one.line, found) else one.line)
        return streams

    def means(self, expected: str, seen: str) -> bool:
        """Whether a line is the expected one; then its codes are known from now on."""
        pieces, names = PLACE.split(expected), list[str]()
        pattern = ""
        for at, piece in enumerate(pieces):
            if at % 2 == 0:
                pattern += re.escape(piece)
            elif piece in KINDS:
                pattern += KINDS[piece]
            else:
                known = self.known.get(piece)
                pattern += f"({CODE if known is None else f'{known[:4]}-?{known[4:]}'})"
                names.append(piece)
        match = re.fullmatch(pattern, seen)
        if match is None:
            return False
        self.known.update(zip(names, (one.replace("-", "") for one in match.groups()), strict=True))
        return True

"""What people do, as Telegram tells it to a bot."""

from typing import Any

from tests.fakes.telegram_state import Json


def bot_message(bot_id: str, user_id: int, date: int, /) -> Json:
    """What a bot wrote to a person in private."""
    return {
        "message_id": 7,
        "date": date,
        "from": {"id": int(bot_id), "is_bot": True, "first_name": f"Bot {bot_id}"},
        "chat": {"id": user_id, "type": "private", "first_name": f"Person {user_id}"},
        "text": "tap here",
    }


def button_tap(query_id: str, user_id: int, data: str, message: Json | None, /, **more: Any) -> Json:
    """A person taps a button under `message`. name, language: of the person; the rest of `more` is merged into it."""
    tap: Json = {
        "id": query_id,
        "from": _person(user_id, more),
        "chat_instance": "1",
        "data": data,
        **more,
    }
    return tap if message is None else {**tap, "message": message}


def _person(user_id: int, more: Json) -> Json:
    """Takes name and language out of `more`."""
    name, language = more.pop("name", f"Person {user_id}"), more.pop("language", "en")
    return {"id": user_id, "is_bot": False, "first_name": name, "language_code": language}


def private_message(message_id: int, date: int, user_id: int, text: str, /, **more: Any) -> Json:
    """What a person writes in private. name, language: of the person; the rest of `more` is merged into it."""
    person = _person(user_id, more)
    return {
        "message_id": message_id,
        "date": date,
        "from": person,
        "chat": {"id": user_id, "type": "private", "first_name": person["first_name"]},
        "text": text,
        **more,
    }

"""What a message holds beside its text, in words; files are in bot.attached. Pure."""

from aiogram.types import Contact, Message, Poll, Venue

from infra.clean import clean

MEDIA = (
    "voice", "audio", "photo", "video", "video_note", "animation", "document", "sticker", "location", "venue",
    "contact", "poll", "dice", "story", "paid_media", "checklist", "game",
)  # fmt: skip
"""Fields of a Message that hold something a person sent on purpose."""
SHARED_CHARS = 500
NAME_CHARS = 64


def media_of(message: Message) -> str:
    """As Telegram names it; "" for none."""
    return next((name for name in MEDIA if getattr(message, name, None)), "")


def shared(message: Message) -> str:
    """A sticker, contact, poll, venue or dice in one line of English, for the model; "" for anything else."""
    said = ""
    if message.sticker:
        said = f"sticker {message.sticker.emoji or ''}"
    elif message.contact:
        said = _contact(message.contact)
    elif message.poll:
        said = _poll(message.poll)
    elif message.venue:
        said = _venue(message.venue)
    elif message.dice:
        said = f"dice {message.dice.emoji}: {message.dice.value}"
    return one_line(said, SHARED_CHARS)


def _contact(contact: Contact) -> str:
    name = " ".join(filter(None, (contact.first_name, contact.last_name)))
    return f"contact: {name}, {contact.phone_number}"


def _poll(poll: Poll) -> str:
    return f"poll: {poll.question} – {'; '.join(option.text for option in poll.options)}"


def _venue(venue: Venue) -> str:
    return f"venue: {venue.title}, {venue.address}"


def one_line(text: str, most_chars: int) -> str:
    """Clean, without line ends and double spaces."""
    return " ".join(clean(text).split())[:most_chars].strip()

"""A day of a family with two bots and one group: who did what, and which calls of the Bot API that caused."""

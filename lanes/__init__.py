"""What makes arq ordered and safe: one job per lane, a lease with a token, and one fenced step per effect.

A lane is one conversation (bot, chat, topic). It has two sides built from this same code: `in:LANE` holds messages that
wait for a turn, `out:LANE` replies that wait to be sent. This package does not know what either of them is.
"""

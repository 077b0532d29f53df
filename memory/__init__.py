"""What a person said and was told, for a day: the ring, the running session, and the context built from both.

Strangers to Telegram, models and queues: decisions here are pure functions over values, and what must change in Redis
is a tuple of `infra.effect.Effect`, applied by whoever holds the lane. Only conversation.py, store.py and expire.py
talk to Redis.
"""

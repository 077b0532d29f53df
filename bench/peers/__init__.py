"""Queues to compare with, each run in an environment of its own: they import nothing of koi."""

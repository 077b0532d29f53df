"""Plumbing that every process shares: settings, Redis, keys, clock, log, people."""

"""Asking models: a chain of candidates, retry and fallback under one deadline, and the offline model.

Start reading at `chain.py`. Only `anthropic_provider.py` imports the SDK, and only when it is used.
"""

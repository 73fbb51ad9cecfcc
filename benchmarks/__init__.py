"""Ours beside its peers, in one run each: ``./dev bench NAME``."""

"""Slow, plain twins of what the library does fast: they enumerate every pair and stump."""

"""Models that score the same in other engines: one form, one module per kind of engine."""

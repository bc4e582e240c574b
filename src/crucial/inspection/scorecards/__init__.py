"""Scorecards: points per bin of each feature, scaled to odds."""

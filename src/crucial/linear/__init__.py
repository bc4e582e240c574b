"""Rankers that are one weighted sum of the features themselves."""

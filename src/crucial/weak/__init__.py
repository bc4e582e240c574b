"""Weak learners, which choose the next weak ranker."""

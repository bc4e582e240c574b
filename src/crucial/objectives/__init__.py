"""Objectives: the losses that boosting minimises."""

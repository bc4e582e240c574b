"""Ranking trees that are grown node by node, and forests of them."""

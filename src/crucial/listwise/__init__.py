"""Rankers that learn from whole lists: likelihood of an order, cosine, average precision."""

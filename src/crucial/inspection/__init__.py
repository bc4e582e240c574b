"""Look into what was learned: compute once, keep the numbers, then draw."""

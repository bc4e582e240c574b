"""Neural rankers: a net scores each row, and a loss over pairs teaches it."""

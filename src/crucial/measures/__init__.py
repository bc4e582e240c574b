"""How good a ranking is: one grammar of names, one tie rule."""

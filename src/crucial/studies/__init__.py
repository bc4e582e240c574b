"""The papers' experiments, each a module that prints its table."""

"""The demo: meta-search over handwritten digits."""

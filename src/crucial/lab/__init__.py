"""Cross-validation and experiments."""

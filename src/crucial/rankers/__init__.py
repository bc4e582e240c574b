"""Thin scikit-learn faces over the loop."""

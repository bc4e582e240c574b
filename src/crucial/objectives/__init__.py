"""What boosting minimises, as potentials on instances."""

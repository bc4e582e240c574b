"""Fuzzing of everything that reads a file: `targets` lists the readers, `runner` feeds them."""

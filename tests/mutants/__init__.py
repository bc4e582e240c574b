"""Mutation testing: small faults put into a copy of the source, which the tests should notice."""

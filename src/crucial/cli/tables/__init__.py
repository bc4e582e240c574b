"""Tables and text that the verbs print."""

"""Options, readers and writers shared by several verbs."""

"""Choose a ranker and its settings by validation."""

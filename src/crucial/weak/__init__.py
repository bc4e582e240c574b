"""Who makes the next weak ranker."""

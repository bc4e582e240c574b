"""What we learn from: instances, queries, bins, files, built-in problems."""

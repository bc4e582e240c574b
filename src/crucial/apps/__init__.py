"""What people come for: fusing results, choosing films, comparing pairs."""

"""Applications: fuse search results, compare items in pairs, recommend items from ratings."""

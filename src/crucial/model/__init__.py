"""Every frozen form of what was learned, and its file format; no training code."""

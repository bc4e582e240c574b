"""Rankings from comparisons: leaderboards, consensus, and a page where a person compares.

Names are imported on first use.
"""

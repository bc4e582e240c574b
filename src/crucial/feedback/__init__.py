"""Feedback: labels whose pairs stay implicit, explicit pairs, and sums of both."""

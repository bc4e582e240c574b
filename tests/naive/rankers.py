"""The rankers of the registry in groups."""

#: Rankers that compare all rows with all, and refuse queries.
WITHOUT_QUERIES = {
    "adaboost", "crank", "crank-forest", "logitboost", "ranking-forest", "rankover",
    "tournament-forest", "treerank", "treerank-aggregation", "treerank-tournament",
}  # fmt: skip

"""Finding operations: what a query asks for, the concepts of its words, ranking, browsing."""

"""All SQL of the databases kind against our own store."""

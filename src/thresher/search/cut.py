"""provisional."""


def keep(ranked, probabilities, limit, constants) -> int:
    return min(limit, len(ranked))

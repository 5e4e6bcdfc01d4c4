"""How many letters two words differ by: wrong, missing, too many, or swapped with the next."""


def distance(a: str, b: str, most: int) -> int | None:
    """The number of such differences, or None where there are more than `most`.

    >>> distance("postgers", "postgres", 1), distance("cat", "horse", 2)
    (1, None)
    """
    if abs(len(a) - len(b)) > most or len(set(a) - set(b)) > most:  # far cheaper than to count, and true of most pairs
        return None
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        next_row = [i]
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            next_row.append(cost)
        if min(next_row) > most:
            return None
        before, row = row, next_row
    return row[-1] if row[-1] <= most else None

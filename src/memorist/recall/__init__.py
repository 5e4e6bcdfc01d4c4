"""How a question finds its memories: a visible tuple of small stages, each of which says what it did."""

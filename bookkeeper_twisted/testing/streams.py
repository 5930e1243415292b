"""Random numbers that a seed decides: all randomness of doubles and simulations comes from here."""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """Return a random generator of its own for each purpose: one more draw for one purpose changes no other."""
    return Random("/".join(map(str, (seed, *purpose))))

"""Chance that a seed decides: the one door to randomness of doubles and simulations."""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """A generator of its own for each purpose, so that one more draw here changes nothing there."""
    return Random("/".join(map(str, (seed, *purpose))))

"""Random numbers from a seed, the only source of randomness in test doubles and simulations."""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """Return a separate random generator for each purpose, so that a draw for one purpose does not affect others."""
    return Random("/".join(map(str, (seed, *purpose))))

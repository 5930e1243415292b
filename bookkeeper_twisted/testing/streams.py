"""Random numbers from a seed; test doubles and simulations get all randomness from here, so runs can be repeated."""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """Make the random generator for one ``purpose``, so that its numbers do not depend on draws for other purposes."""
    return Random("/".join(map(str, (seed, *purpose))))

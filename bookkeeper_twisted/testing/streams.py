"""Random numbers from a seed: test doubles and simulations get all randomness from here, so that runs can be repeated.
"""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """Make the random generator for one ``purpose``; its numbers do not depend on those drawn for other purposes."""
    return Random("/".join(map(str, (seed, *purpose))))

"""Random numbers from a seed, for test doubles and simulations, so that their runs can be repeated.
"""

from random import Random

__all__ = ["Random", "stream"]


def stream(seed: int | str, *purpose: object) -> Random:
    """Make the random generator for one ``purpose``; its numbers do not depend on other generators."""
    return Random("/".join(map(str, (seed, *purpose))))

"""The door of SASL to the world: random numbers and a clock of the operating system."""

import secrets
import time

from .sides import SaslWorld


def system_world() -> SaslWorld:
    """Return the world of a process."""
    return SaslWorld(time.monotonic, secrets.token_bytes)

"""The random numbers and the clock of the operating system, for SASL; tests use others."""

import secrets
import time

from .sides import SaslWorld


def system_world() -> SaslWorld:
    """Return the clock and the random numbers of the operating system, for exchanges of SASL."""
    return SaslWorld(time.monotonic, secrets.token_bytes)

"""The random numbers and the clock of the operating system, for SASL; tests use substitutes."""

import secrets
import time

from .sides import SaslWorld


def system_world() -> SaslWorld:
    """Return the system's clock, random numbers and Kerberos library, for SASL exchanges."""
    return SaslWorld(time.monotonic, secrets.token_bytes)

"""Hides secrets in texts for logs and errors."""

import re

MASK = "******"
"""The text that is shown in place of a password, a key derived from one, or other credentials."""


def masked(secret: object) -> str:
    """Return a text for the ``repr`` of a ``secret`` that shows only whether the secret is empty."""
    return MASK if secret else repr(secret)


_CREDENTIALS = re.compile(r"(?<=//)\S*(?=@)")
"""A pattern for user and password in a URI, up to the last ``@``: a password may contain ``/``, ``,`` and ``@``."""


def without_credentials(text: str) -> str:
    """Mask user and password of each URI in a ``text``."""
    return _CREDENTIALS.sub(MASK, text)

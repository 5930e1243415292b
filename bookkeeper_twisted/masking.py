"""Texts in which secrets are hidden."""

import re

MASK = "******"
"""The text that is shown instead of a secret: a password, a key that is derived from one, a credential."""


def masked(secret: object) -> str:
    """Return the ``repr`` of a ``secret``, which shows only whether the secret is set."""
    return MASK if secret else repr(secret)


_CREDENTIALS = re.compile(r"(?<=//)\S*(?=@)")
"""A pattern that matches up to the last ``@``, because a password may contain ``/``, ``,`` and ``@``."""


def without_credentials(text: str) -> str:
    """Return a ``text`` in which user and password of each URI are masked."""
    return _CREDENTIALS.sub(MASK, text)

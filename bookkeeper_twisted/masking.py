"""Hides secrets in texts for logs and errors."""

import re

MASK = "******"
"""The text that is shown in place of a password, a key derived from one, or other credentials."""


def masked(secret: object) -> str:
    """Return a text for the ``repr`` of a ``secret`` that shows only whether the secret is empty."""
    return MASK if secret else repr(secret)


SECRET_NAME = re.compile(r"passw|pwd|secret|token|credential|(private|master|account|api|access)_?key", re.IGNORECASE)
"""A pattern for names whose values are masked, whatever they are."""

_CREDENTIALS = re.compile(r"(?<=//)\S*(?=@)")
"""A pattern for user and password in a URI, up to the last ``@``: a password may contain ``/``, ``,`` and ``@``."""

_PARAMETER = re.compile(r"(?<=[?&;])([^\s?&;=#'\"]+)=([^\s&;#'\"]+)")
"""A pattern for a parameter in the query of a URI: its name and its value."""


def _parameter_without_secret(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if SECRET_NAME.search(found[1]) else found[0]


def without_credentials(text: str) -> str:
    """Mask user and password of each URI in a ``text``, and each parameter of a query whose name says it is secret."""
    return _PARAMETER.sub(_parameter_without_secret, _CREDENTIALS.sub(MASK, text))

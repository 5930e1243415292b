"""Hides secrets in texts for logs and errors."""

import re

MASK = "******"
"""The text that is shown instead of a password or another secret."""


def masked(secret: object) -> str:
    """Return a text for the ``repr`` of a ``secret`` that shows only whether the secret is empty."""
    return MASK if secret else repr(secret)


SECRET_NAME = re.compile(r"passw|pwd|secret|token|credential|(private|master|account|api|access)_?key", re.IGNORECASE)
"""A pattern for the names of secrets; a value with such a name is always masked."""

_CREDENTIALS = re.compile(r"(?<=//)\S*(?=@)")
"""A pattern for user and password in a URI, up to the last ``@``: a password may contain ``/``, ``,`` and ``@``."""

_PARAMETER = re.compile(r"(?<=[?&;])([^\s?&;=#'\"]+)=([^\s&;#'\"]+)")
"""A pattern for a parameter in the query of a URI: its name and its value."""

_ASSIGNED = re.compile(r"(?i)(passw(?:or)?d\s*=\s*)(?:\"[^\"]*\"?|'[^']*'?|[^\s;,'\"]+)")
"""A pattern for a password that a text assigns, as a login of JAAS does that is written where its file is asked for."""


def _parameter_without_secret(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if SECRET_NAME.search(found[1]) else found[0]


def without_credentials(text: str) -> str:
    """Mask the user and password of each URI in ``text``, the values of query parameters such as ``password``, and the
    passwords that it assigns.
    """
    masked_uris = _PARAMETER.sub(_parameter_without_secret, _CREDENTIALS.sub(MASK, text))
    return _ASSIGNED.sub(rf"\1{MASK}", masked_uris)

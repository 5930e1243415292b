"""The principal of an HTTP request: who its sender has proven to be."""

from twisted.web.server import Request

from ..security.principals import NOBODY, Principal


def principal_of(request: Request) -> Principal:
    """Return the principal of the sender of a ``request``; NOBODY, as no sender is authenticated yet."""
    return NOBODY

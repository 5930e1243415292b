"""Descriptions of the operations of an HTTP server: the method, path, parameters, statuses and allowed users of each.

A decorator gives each handler its :class:`Route`.  The routes are the only source of the paths that a server has, the
rules of access, the list of paths at ``/``, the OpenAPI document and the table in the documentation.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar

import attrs

from ..authorization.interfaces import Permission

F = TypeVar("F", bound=Callable[..., Any])

ANY_METHOD = "*"
JSON, TEXT = "application/json", "text/plain"
"""Media types of most answers."""

_OURS = (
    "/api/v1/console/", "/api/v1/bookie/scrub", "/api/v1/bookie/throttles", "/api/v1/bookie/entry_logs",
    "/api/v1/bookie/gc/progress", "/api/v1/bookie/gc/cancel_compaction", "/api/v1/config/log_levels",
    "/api/v1/autorecovery/progress", "/api/v1/openapi.json",
)  # fmt: skip
"""Prefixes of the paths below ``/api/v1`` that Apache's bookie does not have."""

_ATTRIBUTE = "_routes"
_GET = "GET"


class Access(Enum):
    """The clients that may request an operation: anyone, any principal, or only administrators."""

    ANYONE = "anyone"
    PRINCIPAL = "principal"
    ADMINISTRATOR = "administrator"


@attrs.frozen
class Parameter:
    """A parameter of the query string, or a member of the JSON object in the body of a request.

    :ivar name: the name; in a body, ``*`` stands for members with any name.
    :ivar text: meaning of the parameter for the documentation, as a part of a sentence.
    :ivar kind: type of the value in JSON.
    :ivar least: least valid number, for a parameter of the query string; None if there is no minimum.
    :ivar choices: all valid values, in lower case; empty if there are others.
    """

    name: str
    text: str
    kind: str = "string"
    required: bool = False
    least: int | None = None
    choices: tuple[str, ...] = ()


@attrs.frozen
class Route:
    """One operation of an HTTP server.  An operation with GET handles HEAD requests, too.

    :ivar method: the HTTP method; :data:`ANY_METHOD` stands for all methods without a route.
    :ivar path: the whole path, with a slash at the beginning.
    :ivar summary: contents of the answer, or effect of the operation, as a part of a sentence for the documentation.
    :ivar parameters: parameters of the query string.
    :ivar body: members of the JSON object in the body of the request.
    :ivar refusals: error statuses of this operation, in addition to the error statuses that all operations have.
    :ivar content: media type of the answer.
    :ivar access: the clients that may request the operation; by default any principal for GET, and only administrators
        for other methods.
    :ivar changes: whether the operation changes a state; by default, all operations do except those with GET.
    :ivar action: the permission that an authorizer must grant; None if it depends on the method alone.
    :ivar is_logged: whether the handler logs its changes itself, so that no general line about the request is logged.
    :ivar hint: the text after "Not found method." in the answer to a request with a wrong method; by default, a list of
        the valid methods.
    :ivar is_strict: whether a request with invalid parameters is refused; by default only for paths that Apache's
        bookie does not have.
    """

    method: str
    path: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    body: tuple[Parameter, ...] = ()
    refusals: tuple[int, ...] = ()
    content: str = JSON
    access: Access = attrs.field()
    changes: bool = attrs.field()
    action: Permission | None = None
    is_logged: bool = False
    hint: str = ""
    is_strict: bool = attrs.field()

    @is_strict.default
    def _default_strict(self) -> bool:
        return self.path.startswith(_OURS)

    @access.default
    def _default_access(self) -> Access:
        return Access.PRINCIPAL if self.method == _GET else Access.ADMINISTRATOR

    @changes.default
    def _default_changes(self) -> bool:
        return self.method != _GET

    @property
    def statuses(self) -> list[int]:
        """The possible statuses of the answer, in ascending order."""
        refused = {Access.ANYONE: (), Access.PRINCIPAL: (401,), Access.ADMINISTRATOR: (401, 403)}[self.access]
        unclear = (400,) if self.is_strict else ()
        return sorted({200, 500, *refused, *unclear, *self.refusals})


def routed(*routes: Route) -> Callable[[F], F]:
    """Return a decorator that makes a method the handler of ``routes``."""

    def mark(handler: F) -> F:
        setattr(handler, _ATTRIBUTE, routes)
        return handler

    return mark


def handlers_of(kind: type) -> Iterable[tuple[Route, str]]:
    """Yield each route that the methods of a class ``kind`` handle, with the name of the method."""
    for name, value in vars(kind).items():
        for route in getattr(value, _ATTRIBUTE, ()):
            yield route, name


def routes_of(*kinds: type) -> list[Route]:
    """Return the routes that the methods of the classes ``kinds`` handle."""
    return [route for kind in kinds for route, _ in handlers_of(kind)]

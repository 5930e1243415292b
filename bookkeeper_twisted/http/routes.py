"""The description of the operations of an HTTP server: method, path, parameters, statuses, and who may ask for it.

Each handler has its :class:`Route` beside its code.  The pages of a server, the rules of access, the list of paths at
``/``, the OpenAPI document and the table in the documentation are all made from these.
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
    "/api/v1/openapi.json",
)  # fmt: skip
"""The begins of the paths below ``/api/v1`` that Apache's bookie does not have."""

_ATTRIBUTE = "_routes"
_GET = "GET"


class Access(Enum):
    """A kind of clients that may ask for an operation, where a server checks its requests."""

    ANYONE = "anyone"
    PRINCIPAL = "principal"
    ADMINISTRATOR = "administrator"


@attrs.frozen
class Parameter:
    """A parameter of the query string, or a member of the JSON object in the body of a request.

    :ivar name: the name; ``*`` in a body stands for members of any name.
    :ivar text: what it means, as a part of a sentence.
    :ivar kind: its type in JSON.
    :ivar least: the least number, for a parameter of the query string; None: any.
    :ivar choices: the only values, in lower case; empty: any.
    """

    name: str
    text: str
    kind: str = "string"
    required: bool = False
    least: int | None = None
    choices: tuple[str, ...] = ()


@attrs.frozen
class Route:
    """One operation of an HTTP server.  The operations with GET answer HEAD as well.

    :ivar method: the HTTP method; :data:`ANY_METHOD`: all methods that have no route of their own.
    :ivar path: the whole path, with the slash at its begin.
    :ivar summary: what the answer has, or what the operation does, as a part of a sentence.
    :ivar parameters: parameters of the query string.
    :ivar body: members of the JSON object in the body.
    :ivar refusals: statuses of errors that this operation may answer with, beside those that each may have.
    :ivar content: the media type of the answer.
    :ivar access: who may ask for it; by default any principal for GET, only an administrator for other methods.
    :ivar changes: whether the operation changes a state; by default all do whose method is not GET.
    :ivar action: the permission that an authorizer has to give for it, if this does not follow from the method.
    :ivar is_logged: whether what it changes is logged with more than that the operation was done.
    :ivar hint: what the path answers to another method, after "Not found method."; if empty, the methods.
    :ivar is_strict: whether a query string that makes no sense is refused; paths of Apache's bookie are as lenient as
        there.
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
        """The statuses that the answer may have, in ascending order."""
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
    """Return the routes that the methods of some classes handle.

    :param kinds: the classes.
    """
    return [route for kind in kinds for route, _ in handlers_of(kind)]

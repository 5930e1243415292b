"""The common part of all pages below ``/api/v1``: parses requests, writes JSON like Apache's bookie, reports errors."""

import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.pages import notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request

from ..arguments import whole_number
from ..authorization.access import AccessControl
from ..authorization.interfaces import Permission
from ..errors import (
    BookKeeperError,
    ConfigError,
    IllegalOperationError,
    IncorrectParameterError,
    NoSuchThrottleError,
    NotServingError,
)
from ..masking import MASK, SECRET_NAME
from ..model import MAX_ENTRY_ID
from ..protocol.peer_lines import peer_name
from ..security.principals import NOBODY, Principal
from .channel import BoundedSite
from .principals import principal_of, shown_name
from .routes import ANY_METHOD, Parameter, Route, handlers_of

_REFUSALS: Mapping[type[BookKeeperError], int] = {
    IncorrectParameterError: 400,
    IllegalOperationError: 400,
    ConfigError: 400,
    NoSuchThrottleError: 404,
    NotServingError: 503,
}
"""Maps a class of errors to the HTTP status of the answer, whose complete body is the text of the error."""


_CHANGING: Mapping[bytes, Permission] = {b"PUT": Permission.ADMIN_PUT, b"DELETE": Permission.ADMIN_DELETE}
_OF_LEDGERS = (Permission.READ, Permission.DELETE)

_FIRST_REFUSAL = 400
_SHOWN = 100
"""Maximum number of characters of an invalid value in the text of an error."""


def _shown(name: str, value: object) -> str:
    if SECRET_NAME.search(name):
        return MASK
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@attrs.frozen
class Answer:
    """The answer to an HTTP request of the API.

    :ivar headers: further headers, by name.
    """

    body: str | bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class ApiRequest:
    """An HTTP request of the API: the parts of it that handlers use.

    :ivar parameters: parameters of the query string, each of which is there once.
    :ivar peer: address of the client, for log lines.
    :ivar principal: the identity that the client has proven.
    """

    parameters: Mapping[str, str]
    body: bytes = b""
    peer: str = ""
    principal: Principal = NOBODY

    def flag(self, name: str) -> bool:
        """Test whether the query parameter ``name`` is ``true``."""
        return self.parameters.get(name) == "true"

    def number(self, name: str, default: int) -> int:
        """Return the query parameter ``name`` as an integer, or ``default`` if it is missing.

        :raises IncorrectParameterError: the parameter is no whole number of 64 bits.
        """
        text = self.parameters.get(name)
        try:
            value = default if text is None else whole_number(text)
            problem = "" if abs(value) <= MAX_ENTRY_ID else "is too large"
        except ValueError:
            value, problem = default, "is not a number"
        if not problem:
            return value
        shown = repr(text) if len(text or "") <= _SHOWN else f"a text of {len(text or '')} characters"
        raise IncorrectParameterError(f"{name} = {shown} {problem}")

    def check(self, route: Route) -> None:
        """Check the parameters of the query string against those that the ``route`` declares.

        A route that is not strict (by default, the paths that Apache's bookie also has) accepts any parameters.

        :raises IncorrectParameterError: a parameter is unknown or missing, or its value is invalid.
        """
        if not route.is_strict:
            return
        check_members(self.parameters, [each.name for each in route.parameters], "the query string")
        for known in route.parameters:
            if self.parameters.get(known.name):
                self._check_value(known)
            elif known.required or (known.kind != "string" and known.name in self.parameters):
                raise IncorrectParameterError(f"{known.name} is missing: {known.text}")

    def shown(self, route: Route) -> str:
        """Return, for a log line, those parameters and members of the body that the ``route`` declares.

        :returns: for example ``' with enabled=false'``; empty if there are none.  Long values are cut off, and those
            with names of secrets are masked.
        """
        try:
            body = self.json() if route.body else {}
        except IncorrectParameterError:
            body = {}  # the operation does without its body
        given = [(each.name, self.parameters.get(each.name)) for each in route.parameters]
        given += [(each.name, body[each.name]) for each in route.body if each.name in body]
        texts = [f"{name}={_shown(name, value)}" for name, value in given if value is not None]
        return f" with {', '.join(texts)}" if texts else ""

    def _check_value(self, known: Parameter) -> None:
        value = self.parameters[known.name]
        if known.kind == "integer":
            number = self.number(known.name, 0)
            if known.least is not None and number < known.least:
                raise IncorrectParameterError(f"{known.name} = {number} should be {known.least} or more")
        choices = ("true", "false") if known.kind == "boolean" else known.choices
        if choices and (value if known.kind == "boolean" else value.lower()) not in choices:
            raise IncorrectParameterError(f"{known.name} = {value[:_SHOWN]!r} should be one of {', '.join(choices)}")

    def json(self) -> Mapping[str, Any]:
        """Return the body as a JSON object; an empty body counts as an empty object.

        :raises IncorrectParameterError: the body is not an object, or has text that UTF-8 cannot encode.
        """
        if not self.body.strip():
            return {}
        try:
            value = json.loads(self.body.decode())
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeDecodeError:
            raise IncorrectParameterError("The body is no JSON: it is not UTF-8") from None
        except UnicodeEncodeError:
            raise IncorrectParameterError("The body has one half of a surrogate pair, which is no character") from None
        except json.JSONDecodeError as error:
            raise IncorrectParameterError(f"The body is no JSON: {error}") from None
        except RecursionError:
            raise IncorrectParameterError("The body is nested too deep") from None
        except ValueError:  # Python refuses to parse an integer of more than some thousand digits
            raise IncorrectParameterError("The body has a number that is too long") from None
        if not isinstance(value, dict):
            raise IncorrectParameterError("The body is no JSON object")
        return value

    def members(self, *known: str) -> Mapping[str, Any]:
        """Return the body as a JSON object with only ``known`` members; an empty body counts as an empty object.

        :raises IncorrectParameterError: the body is not an object, or has other members.
        """
        body = self.json()
        check_members(body, known, "the body")
        return body

    def switches(self, defaults: Mapping[str, bool]) -> Sequence[bool]:
        """Return truth values from the JSON object in the body, in the order of ``defaults``.

        :param defaults: value for a missing or null member, by name of the member.
        :raises IncorrectParameterError: the body has members with other names or values.
        """
        body = self.members(*defaults)
        return [switch(body, name, default) for name, default in defaults.items()]


def switch(body: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return the member ``name`` of a JSON ``body``, which must be true or false; ``default`` if it is missing.

    :raises IncorrectParameterError: the value is not a truth value.
    """
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise IncorrectParameterError(f"{name} should be true or false, not {json.dumps(value)}")
    return value


def check_members(found: Mapping[str, object], known: Iterable[str], where: str) -> None:
    """Check that a JSON object has no unknown members, which are usually misspelled.

    Apache's bookie ignores unknown members of most requests.

    :param found: the JSON object.
    :param known: names of the members that the object may have.
    :param where: name of the object in the text of the error.
    :raises IncorrectParameterError: the object has other members.
    """
    known = sorted(known)
    if unknown := sorted(found.keys() - known):
        raise IncorrectParameterError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(known)}")


Handler = Callable[[ApiRequest], Coroutine[Deferred[Any], Any, Answer]]


def json_answer(value: object, status: int = 200) -> Answer:
    """Encode ``value`` as JSON in the layout of Apache's bookie: members on separate lines, lists in one line.

    :param status: HTTP status.
    """
    return Answer(_json(value, 0), status, "application/json; charset=utf-8")


def _json(value: object, depth: int) -> str:
    if isinstance(value, Mapping):
        if not value:
            return "{ }"
        space = "  " * (depth + 1)
        lines = [f"{space}{json.dumps(str(key))} : {_json(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"
    if isinstance(value, list | tuple):
        return "[ " + ", ".join([_json(item, depth) for item in value]) + " ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)


class ApiPage(Resource):
    """The page of one path, with a handler for each HTTP method.

    A request with a method that has no handler is answered with status 404, as in Apache's bookie.  If the site has an
    authorizer, requests need the permission of the authorizer.

    :param hint: the text after "Not found method." in this answer; by default, a list of the methods with handlers.
    :param action: the permission that each request needs.  With None, PUT and DELETE need the permission for
        administration, and other methods need no permission.
    :param others: handler of all methods except GET, HEAD, PUT and DELETE; None if there is none.
    :param routes: describe the operations of the page.
    """

    isLeaf = True
    _log = Logger()

    def __init__(
        self, get: Handler | None = None, put: Handler | None = None, delete: Handler | None = None, hint: str = "",
        action: Permission | None = None, others: Handler | None = None, routes: Sequence[Route] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        self.routes = routes
        self._others = others
        self._action = action
        self._hint = hint
        handlers = {b"GET": get, b"HEAD": get, b"PUT": put, b"DELETE": delete}
        self._handlers = {method: handler for method, handler in handlers.items() if handler is not None}

    def getChild(self, path: bytes, request: Request) -> IResource:
        return notFound()

    def render(self, request: Request) -> object:
        """Start the handler for the method of the ``request``; cancel the handler if the client disconnects.

        :returns: the answer of a request without a handler, otherwise ``NOT_DONE_YET``, as Twisted expects.
        """
        handler = self._handlers.get(request.method, self._others)
        if handler is None:
            methods = " or ".join(method.decode() for method in self._handlers if method != b"HEAD")
            hint = self._hint or f"Should be {methods} method"
            return begin_answer(request, Answer(f"Not found method. {hint}", 404))
        route = self._route_of(request.method)
        if route is not None:
            handler = partial(_if_sensible, handler, route)
        action, access = self.action_of(request.method), _access_of(request)
        if access is not None and action is not None:
            handler = partial(_if_permitted, handler, access, action)
        try:
            asked = api_request_of(request)
        except IncorrectParameterError as error:
            return begin_answer(request, Answer(str(error), 400))
        answering = Deferred.fromCoroutine(handler(asked))
        request.notifyFinish().addErrback(lambda _: answering.cancel())
        if request.method in _CHANGING:
            answering.addCallback(self._say, request, asked)
        answering.addErrback(self._failed).addCallback(send_answer, request)
        return NOT_DONE_YET

    def action_of(self, method: bytes) -> Permission | None:
        """Return the permission that a request with this ``method`` needs; None if it needs none."""
        return self._action or _CHANGING.get(method)

    def _route_of(self, method: bytes) -> Route | None:
        name = "GET" if method == b"HEAD" else method.decode("ascii", "replace")
        return next((route for route in self.routes if route.method == name), None)

    def _say(self, answer: Answer, request: Request, asked: ApiRequest) -> Answer:
        """Log a successful PUT or DELETE request: what it asked for, its principal, the address of its client."""
        route = self._route_of(request.method)
        if answer.status < _FIRST_REFUSAL and not (route is not None and route.is_logged):
            self._log.info(
                "{method} {path}{what} of {peer} was done, for {who}", method=request.method.decode("ascii", "replace"),
                path=request.path.decode("ascii", "replace")[:_SHOWN], who=principal_of(request).name or "nobody known",
                peer=peer_name(request.getClientAddress()), what="" if route is None else asked.shown(route),
            )  # fmt: skip
        return answer

    def _failed(self, failure: Failure) -> Answer:
        """Return the answer to a request whose handler has failed."""
        if failure.check(CancelledError):
            # The client has disconnected, or the operation for which the handler waited was cancelled.
            return Answer("Service Unavailable", 503)
        refusal = failure.check(*_REFUSALS)
        if refusal is not None:
            return Answer(failure.getErrorMessage(), _REFUSALS[refusal])
        if failure.check(BookKeeperError, OSError):
            return Answer(f"Internal Server Error\n{failure.getErrorMessage()}", 500)
        self._log.failure("a request of the HTTP server failed", failure)
        return Answer("Internal Server Error", 500)


def pages_of(api: object) -> dict[str, IResource]:
    """Make the pages whose handlers are the methods of ``api`` with the decorator :func:`.routed`.

    :returns: the pages by their paths; the paths have no slash at the beginning.
    """
    handlers: dict[str, dict[str, Handler]] = {}
    routes: dict[str, list[Route]] = {}
    for route, name in handlers_of(type(api)):
        path = route.path.strip("/")
        handlers.setdefault(path, {})[route.method] = getattr(api, name)
        routes.setdefault(path, []).append(route)
    return {path: _page(handlers[path], routes[path]) for path in handlers}


def _page(handlers: Mapping[str, Handler], routes: Sequence[Route]) -> ApiPage:
    hint = next((route.hint for route in routes if route.hint), "")
    action = next((route.action for route in routes if route.action is not None), None)
    return ApiPage(
        handlers.get("GET"), handlers.get("PUT"), handlers.get("DELETE"), hint, action, handlers.get(ANY_METHOD), routes
    )  # fmt: skip


async def _if_sensible(handler: Handler, route: Route, request: ApiRequest) -> Answer:
    """Check the query string of a request, then call its handler."""
    request.check(route)
    return await handler(request)


async def _if_permitted(handler: Handler, access: AccessControl, action: Permission, request: ApiRequest) -> Answer:
    """Call the handler of a request if the authorizer permits the action to the principal; else answer with 403."""
    if await access.permits(request.principal, request.peer, action, _ledger_of(request, action)):
        return await handler(request)
    who = shown_name(request.principal) or "nobody"
    return json_answer({"reason": f"the rules do not allow {action.value} to {who}"}, 403)


def _access_of(request: Request) -> AccessControl | None:
    return request.site.access() if isinstance(request.site, BoundedSite) else None


def _ledger_of(request: ApiRequest, action: Permission) -> int | None:
    """Return the id of the ledger that the action of a request is about; None if it is about no ledger."""
    return request.number("ledger_id", -1) if action in _OF_LEDGERS else None


def record_refusal(request: Request, page: IResource | None) -> None:
    """Record in the audit log a ``request`` that was refused before its page was asked, because of its credentials.

    :param page: the page of the request; None if there is no such page.
    """
    access = _access_of(request)
    if access is None:
        return
    needed = page.action_of(request.method) if isinstance(page, ApiPage) else _CHANGING.get(request.method)
    action = needed or Permission.ADMIN_GET
    try:
        ledger_id = _ledger_of(api_request_of(request), action)
    except IncorrectParameterError:
        ledger_id = None  # whatever it asked for, it was refused
    access.refused_before(principal_of(request), peer_name(request.getClientAddress()), action, ledger_id)


def send_answer(answer: Answer, request: Request) -> None:
    """Send the ``answer`` to a ``request``, unless the client has disconnected."""
    if request.channel is None:
        return
    request.write(begin_answer(request, answer))
    request.finish()


def api_request_of(request: Request) -> ApiRequest:
    """Return the parameters, body, client address and principal of a ``request``, for its handler.

    :raises IncorrectParameterError: the query string has a parameter several times; which value is meant is not known.
    """
    parameters: dict[str, str] = {}
    for raw, values in (request.args or {}).items():
        name = raw.decode("utf-8", "replace")
        if len(values) > 1 or name in parameters:
            raise IncorrectParameterError(f"{_shown('', name)} is given several times: it should be given once")
        parameters[name] = values[0].decode("utf-8", "replace")
    body = request.content.read() if request.content is not None else b""
    return ApiRequest(parameters, body, peer_name(request.getClientAddress()), principal_of(request))


def begin_answer(request: Request, answer: Answer) -> bytes:
    """Set status and headers of the answer to a ``request``.

    :returns: the body to send, empty for HEAD.
    """
    # In file names, Python represents bytes that are not UTF-8 by lone surrogates.  Encode these as JSON escapes.
    body = answer.body if isinstance(answer.body, bytes) else answer.body.encode(errors="backslashreplace")
    for name, value in answer.headers.items():
        request.setHeader(name.encode(), value.encode())
    request.setResponseCode(answer.status)
    request.setHeader(b"Content-Type", answer.content_type.encode())
    request.setHeader(b"Content-Length", b"%d" % len(body))
    return b"" if request.method == b"HEAD" else body

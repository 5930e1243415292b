"""The pages about an HTTP server itself: the list of its paths, and the OpenAPI document of its operations."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from .api import Answer, ApiRequest, json_answer
from .routes import ANY_METHOD, JSON, TEXT, Access, Parameter, Route, routed

_METHODS = ("get", "put", "post", "delete", "options", "patch", "trace")
"""The HTTP methods that the OpenAPI document contains.  HEAD is left out, because it has the same answers as GET."""

_OF_ALL, _OF_BODIES = (400, 403, 421), (413,)
"""Statuses that any operation may answer with, and statuses of operations with a body.

The server answers with 400 if the query string has a parameter several times, with 403 if a page of another web site
has sent the request, with 421 if it does not accept the header ``Host``, and with 413 if the body is too long.
"""

_ABOUT = (
    "The operations of this server.  HEAD is answered where GET is.  If the server checks its requests, x-access says "
    "who may ask for an operation: anyone, any principal, or an administrator.  A request with a Host that is not "
    "accepted is answered with 421, one with a body above 64 KiB with 413, and one that has a parameter several times "
    "with 400."
)
_SCHEMES: Mapping[str, Mapping[str, str]] = {
    "token": {"type": "http", "scheme": "bearer"},
    "certificate": {"type": "mutualTLS"},
}


class DescriptionApi:
    """Serves the list of the server's paths, and the OpenAPI description of the server.

    :param routes: the routes of all pages of the server, including those of this object.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    @routed(Route("GET", "/", "the paths of this server, one a line", content=TEXT))
    async def _listing(self, request: ApiRequest) -> Answer:
        return Answer("".join(f"{path}\n" for path in sorted({route.path for route in self._routes} - {"/"})))

    @routed(Route("GET", "/api/v1/openapi.json", "the OpenAPI document of all operations, for programs"))
    async def _document(self, request: ApiRequest) -> Answer:
        return json_answer(openapi_document(self._routes))


def openapi_document(routes: Iterable[Route]) -> Mapping[str, object]:
    """Return an OpenAPI 3.1 document about the operations that ``routes`` describe, as a JSON object."""
    paths: dict[str, dict[str, object]] = {}
    anys: list[Route] = []
    for route in sorted(routes, key=lambda route: route.path):
        if route.method == ANY_METHOD:
            anys.append(route)
        else:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, route.method.lower())
    for route in anys:
        of_path = paths.setdefault(route.path, {})
        for method in _METHODS:
            of_path.setdefault(method, _operation(route, method))
    return {
        "openapi": "3.1.0",
        "info": {"title": "bookkeeper-twisted", "version": "1", "description": _ABOUT},
        "paths": paths,
        "components": {"securitySchemes": _SCHEMES},
    }


def _operation(route: Route, method: str) -> Mapping[str, object]:
    words = route.path.removeprefix("/api/v1").strip("/").replace("/", "_").replace(".", "_")
    described: dict[str, object] = {
        "operationId": f"{method}_{words or 'paths'}",
        "summary": _plain(route.summary),
        "security": [{}] if route.access is Access.ANYONE else [{scheme: []} for scheme in _SCHEMES],
        "x-access": route.access.value,
    }
    if route.parameters:
        described["parameters"] = [_of_query(parameter) for parameter in route.parameters]
    if route.body:
        described["requestBody"] = {
            "required": any(each.required for each in route.body),
            "content": {"application/json": {"schema": _schema(route.body)}},
        }
    statuses = sorted({*route.statuses, *_OF_BODIES * bool(route.body), *_OF_ALL})
    return described | {"responses": {str(status): _response(route, status) for status in statuses}}


def _of_query(parameter: Parameter) -> Mapping[str, object]:
    return {
        "name": parameter.name, "in": "query", "description": _plain(parameter.text),
        "required": parameter.required, "schema": _of_value(parameter),
    }  # fmt: skip


def _of_value(parameter: Parameter) -> Mapping[str, object]:
    schema: dict[str, object] = {"type": parameter.kind}
    if parameter.least is not None:
        schema["minimum"] = parameter.least
    return schema | ({"enum": list(parameter.choices)} if parameter.choices else {})


def _schema(members: Sequence[Parameter]) -> Mapping[str, object]:
    named = {each.name: _member(each) for each in members if each.name != "*"}
    if not named:
        return {"type": "object", "additionalProperties": True}
    schema = {"type": "object", "properties": named, "additionalProperties": False}
    required = [each.name for each in members if each.required]
    return schema | ({"required": required} if required else {})


def _member(member: Parameter) -> Mapping[str, object]:
    described: dict[str, object] = {"type": member.kind, "description": _plain(member.text)}
    return described | ({"items": {"type": "string"}} if member.kind == "array" else {})


def _response(route: Route, status: int) -> Mapping[str, object]:
    described = {"description": HTTPStatus(status).phrase}
    if status != HTTPStatus.OK:
        return described
    return described | {"content": {route.content: {"schema": {} if route.content == JSON else {"type": "string"}}}}


def _plain(text: str) -> str:
    return text.replace("``", "")

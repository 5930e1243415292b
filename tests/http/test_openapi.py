"""The description of the operations: it is true to the pages, to their handlers and to the answers."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock

from bookkeeper_twisted.client.admin import BookKeeperAdmin
from bookkeeper_twisted.http.autorecovery_api import AutorecoveryApi
from bookkeeper_twisted.http.background_api import BackgroundApi
from bookkeeper_twisted.http.bookie_api import BookieApi
from bookkeeper_twisted.http.cluster_api import ClusterApi, SharedClient
from bookkeeper_twisted.http.limits_api import LimitsApi
from bookkeeper_twisted.http.openapi import openapi_document
from bookkeeper_twisted.http.routes import ANY_METHOD, TEXT, Access, Parameter, Route, handlers_of
from bookkeeper_twisted.http.site import ROUTES, make_autorecovery_site, make_metrics_site, make_site
from bookkeeper_twisted.limits.adaptive import AdaptiveThrottles, SpeedLimits
from bookkeeper_twisted.limits.throttle import Throttles
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.cluster import MemoryCluster
from docs import http_reference

from .http_case import HttpCase

_METHODS = ("get", "put", "post", "delete", "options", "patch", "trace")
_OTHERS = "Not found method"


class DescribedCase(HttpCase):
    """A bookie with all of its pages."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.cluster = MemoryCluster(self.clock, 3)
        self.shared = SharedClient(lambda: self.cluster.connect().addCallback(BookKeeperAdmin))
        self.site = make_site(FakeBookieAdmin(), self.clock, self.shared, self._sane)

    async def _sane(self) -> bool:
        return True

    def settle(self) -> None:
        for _ in range(30):
            self.clock.advance(0.01)

    def document(self) -> Any:
        """The document as a program reads it."""
        return json.loads(self.ask("/api/v1/openapi.json").body)


class OperationTests(DescribedCase):
    """What is described is answered, and nothing else is."""

    def test_all(self) -> None:
        """The document has exactly the paths of the root, and the root."""
        listed = self.ask("/").body.split()
        self.assertEqual(sorted(["/", *listed]), sorted(self.document()["paths"]))
        self.assertEqual({route.path for route in ROUTES}, {"/", *listed})

    def test_methods(self) -> None:
        """Each operation of it is answered; a method that it does not name is not found, or not allowed."""
        for path, operations in self.document()["paths"].items():
            for method in _METHODS:
                answer = self.ask(path, method.upper())
                with self.subTest(path=path, method=method):
                    missing = answer.status == 405 or answer.body.startswith(_OTHERS)
                    needs_more = path.startswith("/api/v1/ledger/") and "with ledger_id" in answer.body
                    self.assertEqual(method in operations, not missing or needs_more, answer.body)
            status = self.ask(path, "HEAD").status
            self.assertTrue(status == self.ask(path).status if "get" in operations else status in (404, 405), path)

    def test_statuses(self) -> None:
        """Requests without anything, and with nonsense, are answered with one of the statuses that are described."""
        for path, operations in self.document()["paths"].items():
            for method, operation in operations.items():
                names = [each["name"] for each in operation.get("parameters", ())]
                queries = ["", *(f"?{name}=x" for name in names), *(f"?{name}=1" for name in names)]
                asked = [(query, body) for query in queries for body in ("", "x", '{"x":1}', "[]")]
                found = {self.ask(path + query, method.upper(), body).status for query, body in asked}
                self.assertLessEqual(found, set(map(int, operation["responses"])), f"{method} {path}")

    def test_contents(self) -> None:
        """An answer with status 200 is of the type that is described."""
        for path, operations in self.document()["paths"].items():
            answer = self.ask(path)
            if "get" in operations and answer.status == 200:
                (content,) = operations["get"]["responses"]["200"]["content"]
                self.assertRegex(answer.head, rf"Content-Type: {re.escape(content)}(;|\r|$)", path)

    def test_documentation(self) -> None:
        """The page of the documentation has a row for each operation."""
        path = Path(self.mktemp()) / "http.inc"
        http_reference.write_reference(path)
        rows = re.findall(r"^   \* - (?:``(\w+)``|any other method) ``(/.*)``$", path.read_text(), re.M)
        wanted = [(route.method.replace(ANY_METHOD, ""), route.path) for route in ROUTES]
        self.assertEqual(sorted(rows), sorted(wanted))

    def test_other_servers(self) -> None:
        """A process of autorecovery describes its own pages; the port for metrics alone describes nothing."""
        throttles = Throttles(self.clock, {})
        limits = SpeedLimits(throttles, AdaptiveThrottles(self.clock, throttles, lambda: None))
        self.site = make_autorecovery_site(lambda: iter(()), limits, self.shared, self.clock)
        paths = self.document()["paths"]
        self.assertEqual(sorted(paths), sorted(["/", *self.ask("/").body.split()]))
        self.assertIn("/api/v1/autorecovery/status", paths)
        self.assertNotIn("/api/v1/bookie/state", paths)
        self.site = make_metrics_site(lambda: iter(()), self.clock)
        self.assertEqual(self.ask("/api/v1/openapi.json").status, 404)


class DocumentTests(DescribedCase):
    """The members that OpenAPI 3.1 requires."""

    def test_root(self) -> None:
        """Version, title and paths are there; schemes of security that operations name are declared."""
        found = self.document()
        self.assertRegex(found["openapi"], r"^3\.1\.\d+$")
        self.assertLess({"title", "version"}, set(found["info"]))
        self.assertLessEqual(set(found), {"openapi", "info", "paths", "components"})
        schemes = found["components"]["securitySchemes"]
        self.assertEqual({scheme["type"] for scheme in schemes.values()}, {"http", "mutualTLS"})
        for _, _, operation in self._operations(found):
            self.assertLessEqual({name for needed in operation["security"] for name in needed}, set(schemes))

    def test_operations(self) -> None:
        """Each has an id of its own, a summary, and answers with descriptions; paths begin with a slash."""
        found = list(self._operations(self.document()))
        ids = [operation["operationId"] for _, _, operation in found]
        self.assertEqual(len(ids), len(set(ids)))
        for path, method, operation in found:
            self.assertRegex(path, r"^/[\w/.]*$")
            self.assertIn(method, _METHODS)
            self.assertRegex(operation["operationId"], r"^[a-z]+_\w+$")
            self.assertTrue(operation["summary"])
            self.assertIn("200", operation["responses"])
            for status, response in operation["responses"].items():
                self.assertRegex(status, r"^[1-5]\d\d$")
                self.assertTrue(response["description"])
                for content in response.get("content", {}).values():
                    self.assertIn("schema", content)

    def test_parameters(self) -> None:
        """Each has name, place and schema, no name comes twice; bodies have schemas of objects."""
        for path, _, operation in self._operations(self.document()):
            names = [each["name"] for each in operation.get("parameters", ())]
            self.assertEqual(len(names), len(set(names)), path)
            for each in operation.get("parameters", ()):
                self.assertEqual(each["in"], "query")
                self.assertIn(each["schema"]["type"], ("string", "integer", "boolean"))
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                self.assertEqual(schema["type"], "object")
                self.assertLessEqual(set(schema.get("required", ())), set(schema.get("properties", ())))
                for member in schema.get("properties", {}).values():
                    self.assertIn(member["type"], ("string", "integer", "boolean", "array", "object"))
                    self.assertEqual("items" in member, member["type"] == "array")

    def test_access(self) -> None:
        """Who may ask for something is said of each operation, and the statuses follow from it."""
        route = Route("GET", "/x", "x", refusals=(404,))
        self.assertEqual((route.access, route.changes), (Access.PRINCIPAL, False))
        self.assertEqual(route.statuses, [200, 401, 404, 500])
        route = Route("PUT", "/x", "x", body=(Parameter("*", "any"),))
        self.assertEqual((route.access, route.changes), (Access.ADMINISTRATOR, True))
        self.assertEqual(route.statuses, [200, 401, 403, 500])
        open_to_all = Route("GET", "/y", "y", access=Access.ANYONE, content=TEXT)
        found: Any = openapi_document([route, open_to_all, Route(ANY_METHOD, "/y", "y")])["paths"]
        self.assertEqual(found["/y"]["get"]["security"], [{}])
        self.assertEqual(sorted(found["/y"]["get"]["responses"]), ["200", "400", "403", "421", "500"])
        self.assertEqual(found["/y"]["post"]["x-access"], "administrator")
        self.assertEqual(found["/x"]["put"]["security"], [{"token": []}, {"certificate": []}])
        self.assertEqual(sorted(found["/x"]["put"]["responses"]), ["200", "400", "401", "403", "413", "421", "500"])

    def test_bodies(self) -> None:
        """A body is required if one of its members is."""
        members = Parameter("a", "any"), Parameter("b", "any", required=True)
        routes = [Route("PUT", f"/{count}", "x", body=members[:count]) for count in (1, 2)]
        found: Any = openapi_document(routes)["paths"]
        self.assertEqual([found[f"/{count}"]["put"]["requestBody"]["required"] for count in (1, 2)], [False, True])

    def _operations(self, document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                yield path, method, operation


class HandlerTests(DescribedCase):
    """What handlers read of a request is described."""

    def test_read(self) -> None:
        """A handler reads exactly the parameters of its route, and the members of its body."""
        seen = 0
        for kind in (BookieApi, BackgroundApi, ClusterApi, AutorecoveryApi, LimitsApi):
            for route, name in handlers_of(kind):
                tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(kind, name))))
                tree.body[0].decorator_list = []  # type: ignore[attr-defined]
                text = ast.unparse(tree)
                queried = set(re.findall(r"request\.(?:number|flag)\('(\w+)'", text))
                queried |= set(re.findall(r"parameters\.get\('(\w+)'", text))
                self.assertEqual(queried, {each.name for each in route.parameters}, route)
                if kind is not LimitsApi:
                    calls = re.findall(r"(?:\.members|\.switches|_members|_kinds)\((?:request, )?(.*?)\)", text)
                    members = {each for call in calls for each in re.findall(r"'(\w+)'", call)}
                    self.assertEqual(members, {each.name for each in route.body}, route)
                    seen += len(members)
                seen += len(queried)
        self.assertGreater(seen, 25)

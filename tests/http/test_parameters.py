"""Query strings that make no sense, on every path that Apache's bookie does not have."""

from collections.abc import Iterator
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.routes import ANY_METHOD, Parameter, Route
from bookkeeper_twisted.http.site import ROUTES, make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from .http_case import HttpCase

_APACHE = Path(__file__).parent.parent / "parity" / "apache" / "operations.txt"
_WRONG = {
    "integer": ("NaN", "1e9", "-2", "1.5", "", "0x10", "9" * 30, "+", "%C2%B2", "true"),
    "boolean": ("yes", "1", "", "NaN", "TRUE"),
    "string": (),
}


class ParameterTests(HttpCase):
    """A walk over the operations of a bookie's server."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(100)
        self.site = make_site(FakeBookieAdmin(), self.clock, SharedClient(Deferred))
        self.site.doStart()
        self.addCleanup(self.site.doStop)

    def strict(self) -> list[Route]:
        """The operations that check their query strings."""
        return [route for route in ROUTES if route.is_strict]

    def test_ours(self) -> None:
        """All operations below ``/api/v1`` that Apache's bookie does not have check their query strings."""
        theirs = set(_APACHE.read_text().splitlines())
        ours = [route for route in ROUTES if route.path.startswith("/api/v1") and route.method != ANY_METHOD]
        for route in ours:
            self.assertEqual(route.is_strict, f"{route.method} {route.path}" not in theirs, route)

    def refused(self, route: Route, query: str, named: str) -> None:
        """Check that a query is refused with a sentence that names the parameter."""
        answer = self.ask(f"{route.path}?{query}", route.method)
        self.assertEqual(answer.status, 400, f"{route.method} {route.path}?{query}: {answer}")
        self.assertIn(named, answer.body)
        self.assertIn(" ", answer.body)
        self.assertIn(400, route.statuses)

    def test_unknown(self) -> None:
        """A parameter that an operation does not have is refused."""
        for route in self.strict():
            self.refused(route, "limit=-1", "unknown limit")

    def cases(self) -> Iterator[tuple[Route, Parameter, str]]:
        """Each parameter, with sensible values of the others that are needed."""
        for route in self.strict():
            for parameter in route.parameters:
                others = [each for each in route.parameters if each.required and each is not parameter]
                yield route, parameter, "".join(f"&{each.name}=7" for each in others)

    def test_several_values(self) -> None:
        """No operation takes a parameter that is given several times, those with Apache's paths not either."""
        for route in ROUTES:
            for parameter in route.parameters:
                value = {"integer": "1", "boolean": "true"}.get(parameter.kind, "x")
                answer = self.ask(f"{route.path}?{parameter.name}={value}&{parameter.name}={value}", route.method)
                text = f"{parameter.name} is given several times: it should be given once"
                self.assertEqual((answer.status, answer.body), (400, text), route)

    def test_nonsense(self) -> None:
        """No number, a number below the least, and a word that is no choice, are refused."""
        for route, parameter, others in self.cases():
            wrong = ("nonsense",) if parameter.choices else _WRONG[parameter.kind]
            for value in wrong:
                self.refused(route, f"{parameter.name}={value}{others}", parameter.name)

    def test_missing(self) -> None:
        """A parameter that is needed is named, with what it is."""
        for route, parameter, others in self.cases():
            if parameter.required:
                self.refused(route, others.lstrip("&"), f"{parameter.name} is missing: {parameter.text}")

    def test_sensible(self) -> None:
        """What makes sense is answered, in upper case, too; choices and numbers are in the description."""
        for query in ("kind=disk&from=0&until=9", "kind=DISK", "kind=", ""):
            self.assertEqual(self.ask(f"/api/v1/console/events?{query}").status, 200, query)
        self.assertEqual(self.ask("/api/v1/console/entry_logs?page=1000").status, 200)
        self.assertIn("from = 9 is after until = 3", self.ask("/api/v1/console/events?from=9&until=3").body)
        text = self.ask("/api/v1/openapi.json").body
        self.assertIn('"enum" : [ "open", "in_recovery", "closed" ]', text)
        self.assertIn('"minimum" : -1', text)

    def test_apaches(self) -> None:
        """Paths of Apache's bookie take parameters that are unknown, as its own do."""
        self.assertEqual(self.ask("/api/v1/bookie/state?limit=-1").status, 200)

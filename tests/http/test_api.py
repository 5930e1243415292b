"""The layout of JSON, methods and failures."""

import gc
import json
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site

from bookkeeper_twisted.errors import IncorrectParameterError, MetadataError
from bookkeeper_twisted.http.api import Answer, ApiPage, ApiRequest, json_answer
from bookkeeper_twisted.http.routes import Parameter, Route
from bookkeeper_twisted.masking import MASK

from .http_case import HttpCase, captured, lines


class JsonTests(SynchronousTestCase):
    """:func:`json_answer`."""

    def test_layout(self) -> None:
        """It is laid out as by Apache's bookie, byte for byte."""
        for name in ("state", "ledger-metadata", "bookie-info", "list_bookie_info", "ledger-list", "list_bookies-ro"):
            with self.subTest(name):
                body = captured(name)[1]
                self.assertEqual(json_answer(json.loads(body)).body, body)


class BodyTests(SynchronousTestCase):
    """Bodies that are no JSON object."""

    def test_refused(self) -> None:
        """The reason is one line in the words of a user, whatever is wrong."""
        for body, said in (
            (b"x", "The body is no JSON: Expecting value: line 1 column 1 (char 0)"),
            (b"[1]", "The body is no JSON object"),
            (b"\xff\xfe{", "The body is no JSON: it is not UTF-8"),
            (b"[" * 60_000, "The body is nested too deep"),
            (b'{"n":' + b"9" * 5000 + b"}", "The body has a number that is too long"),
            (b'{"n\\ud800":1}', "The body has one half of a surrogate pair, which is no character"),
            (b'{"n":["\\udfff"]}', "The body has one half of a surrogate pair, which is no character"),
        ):
            error = self.assertRaises(IncorrectParameterError, ApiRequest({}, body).json)
            self.assertEqual(str(error), said)
        self.assertEqual(ApiRequest({}, b" \n").json(), {})
        self.assertEqual(ApiRequest({}, b'{"n":"\\ud83d\\ude00"}').json(), {"n": "\U0001f600"})


class PageTests(HttpCase):
    """One path."""

    def setUp(self) -> None:
        self.gone: list[str] = []
        self.raised: BaseException = ValueError()
        self.site = Site(ApiPage(self._get, delete=self._fail))

    async def _get(self, request: ApiRequest) -> Answer:
        return Answer(f"{request.number('n', 7)} {request.flag('f')}")

    async def _raise(self, request: ApiRequest) -> Answer:
        raise self.raised

    async def _fail(self, request: ApiRequest) -> Answer:
        if request.flag("gone"):
            raise FileNotFoundError(2, "No such file", "/l")
        raise MetadataError("the store is away") if request.flag("known") else ValueError("a defect")

    def test_parameters(self) -> None:
        """Numbers and flags of the query; a text that is no number is refused."""
        self.assertEqual(self.ask("/").body, "7 False")
        self.assertEqual(self.ask("/?n=2&f=true").body, "2 True")
        for text in ("x", "1_0", "%D9%A1%D9%A0", "+%D9%A1", "%201", "0x1", "1.0", "", "-", "9" * 5000, str(1 << 63)):
            with self.subTest(text[:9]):
                self.assertEqual(self.ask(f"/?n={text}").status, 400)
        self.assertIn("'9223372036854775808' is too large", self.ask(f"/?n={1 << 63}").body)
        self.assertIn("'x' is not a number", self.ask("/?n=x").body)
        self.assertEqual(self.ask("/?n=-012").body, "-12 False")
        self.assertEqual(self.ask(f"/?n={(1 << 63) - 1}").body, f"{(1 << 63) - 1} False")
        self.assertLess(len(self.ask("/?n=" + "x" * 5000).body), 200)

    def test_several_values(self) -> None:
        """A parameter that is given several times is refused with its name, whatever its values."""
        for query, name in (("n=1&n=2", "n"), ("f=true&n=1&n=1", "n"), ("x=&x=", "x"), ("%C3=1&%C4=1", "\ufffd")):
            for method in ("GET", "DELETE"):
                answer = self.ask(f"/?{query}", method)
                text = f"{name} is given several times: it should be given once"
                self.assertEqual((answer.status, answer.body), (400, text))
        self.assertLess(len(self.ask(f"/?{'x' * 500}=1&{'x' * 500}=2").body), 200)

    def test_changes_are_logged(self) -> None:
        """A line says who has changed something; not if it was refused, and not if the operation says more."""
        routes = [Route("PUT", "/x", "x"), Route("DELETE", "/x", "x", is_logged=True)]
        self.site = Site(ApiPage(self._get, self._get, self._get, routes=routes))
        with capturedLogs() as events:
            for method, query in (("PUT", ""), ("PUT", "?n=x"), ("DELETE", ""), ("GET", "")):
                self.ask(f"/{query}", method)
        self.assertEqual(lines(events), ["info: PUT / of 192.168.1.1:54321 was done, for nobody known"])

    def test_changes_are_named(self) -> None:
        """The line of a change has what was asked for: declared parameters and members, cut off, without secrets."""
        names = [Parameter(each, each) for each in ("n", "f", "password")]
        route = Route("PUT", "/x", "x", parameters=tuple(names), body=(Parameter("bookie_src", "x", "array"),))
        self.site = Site(ApiPage(self._get, self._get, routes=[route]))
        with capturedLogs() as events:
            self.ask("/?n=1&f=true&password=xyz&other=3", "PUT", '{"bookie_src": ["a", "b\\n"], "more": 1}')
            self.ask("/?n=2", "PUT", "no JSON")
            self.ask("/?n=3&f=" + "y" * 200, "PUT")
        self.assertEqual(
            [line.removesuffix(" of 192.168.1.1:54321 was done, for nobody known") for line in lines(events)],
            [
                f'info: PUT / with n=1, f=true, password={MASK}, bookie_src=["a", "b\\n"]',
                "info: PUT / with n=2",
                f"info: PUT / with n=3, f={'y' * 100}...",
            ],
        )

    def test_methods(self) -> None:
        """HEAD is GET without a body; a method without a handler is not found, as with Apache's bookie."""
        head = self.ask("/", "HEAD")
        self.assertEqual((head.status, head.body), (200, ""))
        self.assertIn("Content-Length: 7", head.head)
        self.assertEqual((self.ask("/", "PUT").status, self.ask("/", "PUT").body[:16]), (404, "Not found method"))

    def test_failures(self) -> None:
        """A failure is 500: with its text where it is one of ours or of a disk, else logged."""
        gone = self.ask("/?gone=true", "DELETE")
        self.assertEqual((gone.status, gone.body), (500, "Internal Server Error\n[Errno 2] No such file: '/l'"))
        known = self.ask("/?known=true", "DELETE")
        self.assertEqual((known.status, known.body), (500, "Internal Server Error\nthe store is away"))
        self.assertEqual(self.ask("/", "DELETE").status, 500)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_answered(self) -> None:
        """Every request has an answer: whatever its handler raises, and whatever text is in it."""
        self.site = Site(ApiPage(self._raise))
        for wrong, status, body in (
            (IncorrectParameterError("no \ud800"), 400, "no \\ud800"), (CancelledError(), 503, "Service Unavailable"),
            (OSError(2, "gone", "/l/\udcff"), 500, "Internal Server Error\n[Errno 2] gone: '/l/\\udcff'"),
            (SystemExit(3), 500, "Internal Server Error"),
        ):  # fmt: skip
            with self.subTest(repr(wrong)):
                self.raised = wrong
                answer = self.ask("/")
                self.assertEqual((answer.status, answer.body), (status, body))
        self.assertEqual(len(self.flushLoggedErrors(SystemExit)), 1)
        name = str(json_answer(["/l/\udcff"]).body).encode(errors="backslashreplace")
        self.assertEqual(json.loads(name), ["/l/\udcff"])

    def test_gone(self) -> None:
        """A client that goes takes its request with it, which is no error."""
        waiting: Deferred[Any] = Deferred(lambda _: self.gone.append("cancelled"))

        async def wait(request: ApiRequest) -> Answer:
            await waiting
            return Answer("")

        channel = Site(ApiPage(wait)).buildProtocol(None)
        channel.makeConnection(StringTransport())
        channel.dataReceived(b"GET / HTTP/1.0\r\n\r\n")
        channel.timeOut = None
        channel.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.gone, ["cancelled"])
        gc.collect()  # an error that nothing handles is logged with the end of its Deferred
        self.assertEqual(self.flushLoggedErrors(), [])

"""The rules of access to an HTTP server: what is open, what needs a principal, what needs an administrator."""

import json
from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization.access import AccessControl, Everybody
from bookkeeper_twisted.authorization.audit_file import AuditFile
from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.http.access import AccessGuard, HttpProtection
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.principals import Verifier
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import AuthorizationMetrics
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.security.token_keys import read_secrets
from bookkeeper_twisted.security.tokens import sign_token
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.executor import StepExecutor

from .http_case import lines

ADMIN = "CN=admin,O=Example"
SECRET = "c2VjcmV0IG9mIGF0IGxlYXN0IDMyIGJ5dGVzIGZvciB0ZXN0cw"
PRINCIPALS = {
    "reader": Principal("token", "reader"), "admin": Principal("token", ADMIN), "nobody": NOBODY,
    "operator": Principal("token", "bob", ("reader", "operator")),
    "service": Principal("token", "x", (), ("spiffe://example/tool",)),
    "odd": Principal("token", "role:operator", (), ("role:operator",)), "nameless": Principal("token"),
    "forger": Principal("token", "a\nb"),
}  # fmt: skip
ADMINS = (ADMIN, "role:operator", "spiffe://example/tool")


class FakeVerifier:
    """Knows some tokens."""

    def verify(self, token: str) -> Principal:
        """See :class:`Verifier`."""
        if token not in PRINCIPALS:
            raise UnauthorizedAccessError(detail="the token is unknown")
        return PRINCIPALS[token]


class AccessCase(SynchronousTestCase):
    """A site with a guard, on an address that other machines reach."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.instruments = Instruments()
        self.open(http_admin_principals=ADMINS)

    def open(self, local: bool = False, verifier: Verifier | None = None, **keys: Any) -> str:
        """Make the site anew; return what the log would say of it."""
        self.admin = FakeBookieAdmin()
        keys = {"token_in_clear": True, **keys}
        self.guard = AccessGuard(
            BookieConfig(**keys), verifier or FakeVerifier(), False, self.clock.seconds, self.instruments
        )
        self.site = make_site(self.admin, self.clock, check_sanity=self.check_sanity, guard=self.guard)
        return self.site.opened(local)

    async def check_sanity(self) -> bool:
        """Find the bookie in good order."""
        return True

    def ask(self, path: str, method: str = "GET", token: str | None = None, header: str = "", body: str = "") -> int:
        """The status of an answer; its text is kept."""
        address = IPv4Address("TCP", "192.0.2.1", 7)
        channel, transport = self.site.buildProtocol(None), StringTransport(peerAddress=address)
        channel.makeConnection(transport)
        given = header or (f"Authorization: Bearer {token}\r\n" if token is not None else "")
        length = f"Content-Length: {len(body)}\r\n"
        channel.dataReceived(f"{method} {path} HTTP/1.0\r\n{given}{length}\r\n{body}".encode())
        for _ in range(3):
            self.clock.advance(0)
        self.answer = transport.value().decode()
        channel.connectionLost(None)
        return int(self.answer.split()[1])

    @property
    def counted(self) -> tuple[float, float]:
        """How many requests had no principal, and one that may not do this."""
        return self.guard.unauthenticated.value, self.guard.forbidden.value


class OpenTests(AccessCase):
    """Who reaches the server decides whether requests are checked."""

    def test_probes(self) -> None:
        """Probes and scrapers need no token; what they ask for can only be read."""
        for path in ("/metrics", "/heartbeat", "/api/v1/bookie/is_ready", "/api/v1/bookie/state", "//metrics/"):
            self.assertEqual((path, self.ask(path)), (path, 200))
            self.assertEqual(self.ask(path, "HEAD"), 200)
            self.assertEqual(self.ask(path, "PUT"), 401)
            self.assertEqual(self.ask(path, token="wrong"), 200)

    def test_all_others(self) -> None:
        """No other path answers without a token, the list of all paths and unknown paths neither."""
        status = self.ask("/", token="reader")
        paths = self.answer.partition("\r\n\r\n")[2].split()
        self.assertEqual((status, len(paths) > 20), (200, True))
        for path in ["/", "/nope", "/api/v1/bookie/state/readonly", *paths, *(f"/{path}/" for path in paths)]:
            is_open = path.strip("/") in ("metrics", "heartbeat", "api/v1/bookie/is_ready", "api/v1/bookie/state")
            if not is_open and not path.strip("/").startswith("console"):
                for method in ("GET", "HEAD", "PUT", "DELETE", "POST", "OPTIONS", "get"):
                    self.assertEqual((path, self.ask(path, method)), (path, 401))

    def test_local(self) -> None:
        """On the loopback address nothing is checked, unless the configuration says so."""
        text = self.open(local=True)
        self.assertEqual(text, "for this machine alone: httpServerHost=0.0.0.0 opens it")
        self.assertEqual((self.ask("/"), self.ask("/api/v1/bookie/gc", "PUT")), (200, 200))
        text = self.open(local=True, http_authentication="required")
        self.assertIn("asks for a token or certificate, except at /api/v1/bookie/is_ready, /api/v1/bookie/state", text)
        self.assertEqual(self.ask("/"), 401)

    def test_none(self) -> None:
        """The behaviour of earlier releases has a key, and a line in the log."""
        text = self.open(http_authentication="none")
        self.assertIn("asks no one for a password: httpAuthentication=auto closes it", text)
        self.assertEqual((self.ask("/"), self.ask("/api/v1/bookie/gc", "PUT")), (200, 200))
        self.assertEqual(self.ask("/", token="wrong"), 200)

    def test_before_it_listens(self) -> None:
        """As long as it is not known who reaches the server, requests are checked."""
        guard = AccessGuard(BookieConfig(), None, False, self.clock.seconds, self.instruments)
        self.site = make_site(self.admin, self.clock, guard=guard)
        self.assertEqual(self.ask("/"), 401)

    def test_nobody_can(self) -> None:
        """The log says if nobody can show who they are."""
        guard = AccessGuard(BookieConfig(), None, False, self.clock.seconds, self.instruments)
        self.assertIn("no request can show who sends it", guard.opened(False))
        self.assertIn("httpAuthentication=none opens everything", guard.opened(False))
        self.assertNotIn("no request", self.open())
        certificates = AccessGuard(BookieConfig(), None, True, self.clock.seconds, self.instruments)
        self.assertNotIn("no request", certificates.opened(False))


class CredentialsTests(AccessCase):
    """What a request has to show."""

    def test_challenge(self) -> None:
        """401 says how to authenticate, and why the token was refused; nothing of the token is repeated."""
        self.assertEqual(self.ask("/"), 401)
        self.assertIn('WWW-Authenticate: Bearer realm="bookkeeper"\r\n', self.answer)
        self.assertIn('"reason" : "a token or a certificate is needed"', self.answer)
        self.assertIn("Content-Type: application/json", self.answer)
        self.assertEqual(self.ask("/", token="sesame"), 401)
        self.assertIn('WWW-Authenticate: Bearer realm="bookkeeper", error="invalid_token"\r\n', self.answer)
        self.assertIn("the token is unknown", self.answer)
        self.assertNotIn("sesame", self.answer)
        self.assertEqual(self.counted, (2, 0))

    def test_odd(self) -> None:
        """Other schemes, two tokens, and a token in the place of a parameter are not accepted."""
        for header in (
            "Authorization: Basic cmVhZGVyOg==\r\n", "Authorization: Token reader\r\n",
            "Authorization: reader\r\n", "Authorization: Bearer\r\n",
            "Authorization: Bearer reader\r\nAuthorization: Bearer reader\r\n", "Authorization: \r\n",
            "Authorization: Bearer reader admin\r\n", "Authorization: Bearer \xff\r\n",
            "X-Authorization: Bearer reader\r\n",
        ):  # fmt: skip
            with self.subTest(header):
                self.assertEqual(self.ask("/", header=header), 401)
        self.assertEqual(self.ask("/?access_token=reader"), 401)
        self.assertEqual(self.ask("/", token="nobody"), 401)
        self.assertEqual(self.ask("/", header="authorization: bEaReR  reader\r\n"), 200)
        self.assertEqual(self.ask("/", token="nameless"), 200)

    def test_in_clear(self) -> None:
        """Tokens that other machines send in clear are not accepted, unless tokenInClear is set."""
        self.open(token_in_clear=False)
        self.assertEqual(self.ask("/", token="reader"), 401)
        self.assertIn("the token was sent in clear", self.answer)
        self.open(local=True, token_in_clear=False, http_authentication="required")
        self.assertEqual(self.ask("/", token="reader"), 200)

    def test_no_tokens(self) -> None:
        """A server without keys for tokens says so."""
        guard = AccessGuard(BookieConfig(), None, True, self.clock.seconds, self.instruments)
        self.site = make_site(self.admin, self.clock, guard=guard)
        self.assertEqual(self.ask("/", token="reader"), 401)
        self.assertIn("accepts no tokens", self.answer)

    def test_signed(self) -> None:
        """A token that a secret of tokenKeyFile has signed is a principal of the configured server."""
        try:
            import jwt  # noqa: F401
        except ImportError:
            raise SkipTest("needs the extra jwt") from None
        path = Path(self.mktemp())
        path.write_text(f"k1 {SECRET}\n")
        path.chmod(0o600)
        self.clock.advance(1000)
        config = BookieConfig(
            http_server_enabled=True, token_key_file=str(path), token_in_clear=True,
            http_admin_principals=("alice",),
        )  # fmt: skip
        guard = HttpProtection(config, self.clock).guard(self.instruments)
        self.site = make_site(self.admin, self.clock, guard=guard)
        (key,) = read_secrets(str(path))
        for claims, status in (
            ({"sub": "alice", "exp": 2000}, 200), ({"sub": "bob", "exp": 2000}, 403),
            ({"sub": "alice", "exp": 900}, 401),
        ):  # fmt: skip
            self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT", sign_token(key, claims)), status)

    def test_log(self) -> None:
        """An address is one line a minute in the log, with path and reason and without the token."""
        with capturedLogs() as events:
            for _ in range(5):
                self.ask("/api/v1/ledger/list?token=sesame", token="sesame")
            self.clock.advance(61)
            self.ask("/" + "x" * 500, "PUT", token="reader")
        first, second = lines(events)
        self.assertEqual(
            first, "info: GET /api/v1/ledger/list of 192.0.2.1:7 was refused: the token is unknown"
        )
        self.assertRegex(second, "info: PUT /x{100} of 192.0.2.1:7 was refused: .*httpAdminPrincipals.*4 such lines")
        self.assertEqual(self.counted, (5, 1))

    def test_reasons(self) -> None:
        """Each reason for which requests of an address are refused is a line, whatever was refused before."""
        with capturedLogs() as events:
            for token in ("sesame", None, "reader", "forger", None):
                self.ask("/api/v1/bookie/gc", "PUT", token=token)
        self.assertEqual(
            [line.partition("was refused: ")[2] for line in lines(events)],
            ["the token is unknown", "a token or a certificate is needed", "reader is none of httpAdminPrincipals",
             "a\\x0ab is none of httpAdminPrincipals"],
        )  # fmt: skip


class AdministratorTests(AccessCase):
    """What only administrators may do."""

    def test_reading(self) -> None:
        """Any principal reads states and lists."""
        for path in ("/", "/api/v1/bookie/info", "/api/v1/config/server_config", "/api/v1/bookie/gc"):
            self.assertEqual((path, self.ask(path, token="reader")), (path, 200))
        self.assertEqual(self.counted, (0, 0))

    def test_changing(self) -> None:
        """Whatever changes a state needs an administrator: by name, by role, by URI."""
        for token, status in (
            ("reader", 403), ("admin", 200), ("operator", 200), ("service", 200), ("odd", 403), ("nameless", 403),
        ):  # fmt: skip
            self.assertEqual((token, self.ask("/api/v1/bookie/gc", "PUT", token)), (token, status))
        self.assertEqual(self.counted, (0, 3))
        self.assertEqual([self.ask("/", method, "reader") for method in ("POST", "OPTIONS", "get")], [403] * 3)
        self.assertEqual(self.ask("/", "POST", "admin"), 404)
        self.ask("/api/v1/bookie/gc", "PUT", "reader")
        self.assertIn('"reason" : "reader is none of httpAdminPrincipals"', self.answer)
        self.assertNotIn("WWW-Authenticate", self.answer)

    def test_log_of_names(self) -> None:
        """A refusal says who was refused, without control characters."""
        body = json.dumps({"limiters": {"scrub": {"entriesPerSecond": 7}}})
        with capturedLogs() as events:
            self.assertEqual(self.ask("/api/v1/bookie/throttles", "PUT", "forger", body=body), 403)
        (refused,) = lines(events)
        self.assertIn(r"a\x0ab is none of httpAdminPrincipals", refused)

    def test_changing_reads(self) -> None:
        """Entries, and the check of a bookie, which writes a ledger, are for administrators although they are GET."""
        for path in ("/api/v1/ledger/read?ledger_id=1", "/api/v1/bookie/sanity", "//api/v1/bookie/sanity/"):
            self.assertEqual((path, self.ask(path, token="reader")), (path, 403))
            self.assertEqual(self.ask(path, "HEAD", token="reader"), 403)
        self.assertEqual(self.ask("/api/v1/bookie/sanity", token="admin"), 200)

    def test_no_administrators(self) -> None:
        """Without the key nobody is an administrator."""
        self.open()
        for token in PRINCIPALS.keys() - {"nobody"}:
            self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT", token), 403)

    def test_read_only(self) -> None:
        """With httpReadOnly nothing can be changed, by administrators neither, and on the loopback address neither."""
        for local in (False, True):
            self.open(local, http_read_only=True, http_admin_principals=ADMINS)
            self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT", "admin"), 403)
            self.assertIn("httpReadOnly=true", self.answer)
            self.assertEqual(self.ask("/api/v1/bookie/sanity", token="admin"), 403)
            self.assertEqual(self.ask("/api/v1/bookie/gc", "DELETE", "admin"), 403)
            self.assertEqual(self.ask("/api/v1/config/server_config", token="admin"), 200)
        self.open(http_read_only=True)
        self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT"), 401)


class AuditTests(AccessCase):
    """Requests that are refused before the authorizer is asked."""

    def setUp(self) -> None:
        super().setUp()
        self.path, self.executor = Path(self.mktemp()), StepExecutor()
        self.metrics = AuthorizationMetrics(Instruments(), [action.value for action in Permission])
        self.access = AccessControl(Everybody(), self.metrics, self.clock, AuditFile(str(self.path)))
        self.access.start(lambda work, *args: self.executor.submit("audit", work, *args))
        self.admin.access = self.access

    def recorded(self) -> list[tuple[str, str, str, int | None, int]]:
        """Principal, action, result, ledger and number of the new lines of the audit log."""
        self.clock.advance(1.0)
        self.executor.drain()
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.path.write_text("")
        names = ("principal", "action", "result", "ledger")
        return [(*(line[name] for name in names), line.get("count", 1)) for line in found]  # type: ignore[misc]

    def test_refused(self) -> None:
        """A request without credentials, with wrong ones, or of somebody who is no administrator, is a line."""
        for method, path, token, line in (
            ("PUT", "bookie/gc", None, ("", "admin:put", "refused", None, 1)),
            ("PUT", "bookie/gc", "wrong", ("", "admin:put", "refused", None, 1)),
            ("PUT", "bookie/gc", "reader", ("reader", "admin:put", "refused", None, 1)),
            ("DELETE", "bookie/nothing", "reader", ("reader", "admin:delete", "refused", None, 1)),
            ("GET", "bookie/sanity", "reader", ("reader", "admin:get", "refused", None, 1)),
            ("GET", "bookie/gc", None, ("", "admin:get", "refused", None, 1)),
        ):  # fmt: skip
            with self.subTest(method=method, path=path, token=token):
                self.assertIn(self.ask(f"/api/v1/{path}", method, token), (401, 403))
                self.assertEqual(self.recorded(), [line])
        self.assertEqual(sum(counter.value for counter in self.metrics.refused.values()), 0)

    def test_ledger(self) -> None:
        """The line names the ledger that should have been read or deleted, if the request names one."""
        client = SharedClient(Deferred)
        self.site = make_site(self.admin, self.clock, client, guard=self.guard)
        self.site.opened(False)
        for method, query, line in (
            ("GET", "read?ledger_id=7", ("reader", "read", "refused", 7, 1)),
            ("DELETE", "delete?ledger_id=8", ("reader", "delete", "refused", 8, 1)),
            ("DELETE", "delete?ledger_id=x", ("reader", "delete", "refused", None, 1)),
            ("DELETE", "delete?ledger_id=8&ledger_id=9", ("reader", "delete", "refused", None, 1)),
        ):
            with self.subTest(query):
                self.assertEqual(self.ask(f"/api/v1/ledger/{query}", method, "reader"), 403)
                self.assertEqual(self.recorded(), [line])

    def test_read_only(self) -> None:
        """With httpReadOnly, what an administrator may not do is a line, too; many are one with their number."""
        self.open(http_admin_principals=ADMINS, http_read_only=True)
        self.admin.access = self.access
        for _ in range(3):
            self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT", "admin"), 403)
        self.assertEqual([line[0] for line in self.recorded()], [ADMIN, ADMIN])

    def test_no_audit_log(self) -> None:
        """Without an audit log a request is refused all the same."""
        self.admin.access = None
        self.assertEqual(self.ask("/api/v1/bookie/gc", "PUT"), 401)

"""Who may use which page of the HTTP server."""

import json
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_twisted.authorization.access import AccessControl
from bookkeeper_twisted.authorization.audit_file import AuditFile
from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.http import api
from bookkeeper_twisted.http.cluster_api import SharedClient
from bookkeeper_twisted.http.principals import principal_of
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import AuthorizationMetrics
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.authorization import FakeAuthorizer
from bookkeeper_twisted.testing.executor import StepExecutor

from .http_case import HttpCase

P = Permission
_CHANGING = (
    ("PUT", "api/v1/bookie/state/readonly"), ("PUT", "api/v1/bookie/expand_storage"), ("PUT", "api/v1/bookie/gc"),
    ("PUT", "api/v1/bookie/throttles"), ("PUT", "api/v1/config/server_config"), ("PUT", "api/v1/bookie/scrub"),
    ("PUT", "api/v1/autorecovery/status"), ("PUT", "api/v1/autorecovery/decommission"),
    ("PUT", "api/v1/autorecovery/bookie"),
)  # fmt: skip


class AccessTests(HttpCase):
    """A site with an authorizer."""

    def setUp(self) -> None:
        self.fake = FakeAuthorizer()
        clock = Clock()
        self.metrics = AuthorizationMetrics(Instruments(), [action.value for action in P])
        self.path = Path(self.mktemp())
        self.access = AccessControl(self.fake, self.metrics, clock, AuditFile(str(self.path)))
        executor = StepExecutor()
        self.access.start(lambda work, *args: executor.submit("audit", work, *args))
        self.executor = executor
        self.admin = FakeBookieAdmin(access=self.access)
        self.connected: list[Deferred[Any]] = []

        async def sane() -> bool:
            return True

        self.site = make_site(self.admin, clock, SharedClient(self._connect), sane)

    def _connect(self) -> "Deferred[Any]":
        self.connected.append(Deferred())
        return self.connected[-1]

    def refuse(self) -> None:
        self.fake.change(lambda *question: False)

    def test_changing(self) -> None:
        """Whatever changes something needs the permission for its verb; without it nothing is done."""
        self.refuse()
        for method, path in _CHANGING:
            found = self.ask(f"/{path}", method, '{"readOnly": true}')
            reason = {"reason": "the rules do not allow admin:put to nobody"}
            self.assertEqual((found.status, json.loads(found.body)), (403, reason), path)
        self.assertEqual(set(self.fake.asked), {(NOBODY, P.ADMIN_PUT, None)})
        self.assertEqual((self.admin.by_administrator, self.connected), (False, []))
        self.assertEqual(self.metrics.refused["admin:put"].value, len(_CHANGING))

    def test_every_page(self) -> None:
        """No page of the site that has a method to change something can be used without permission."""
        self.refuse()
        pages: Any = self.site.resource._pages
        tried = 0
        for path, page in pages.items():
            for method in getattr(page, "_handlers", {}):
                if method in (b"PUT", b"DELETE"):
                    self.assertEqual(self.ask(f"/{path}?ledger_id=1", method.decode()).status, 403, path)
                    tried += 1
        self.assertGreater(tried, 18)

    def test_ledgers(self) -> None:
        """Reading entries and deleting need permission for the ledger; the sanity check writes, and needs one, too."""
        self.refuse()
        for method, path, question in (
            ("GET", "ledger/read?ledger_id=7", (P.READ, 7)), ("HEAD", "ledger/read?ledger_id=8", (P.READ, 8)),
            ("DELETE", "ledger/delete?ledger_id=7", (P.DELETE, 7)), ("GET", "bookie/sanity", (P.ADMIN_GET, None)),
        ):  # fmt: skip
            self.assertEqual(self.ask(f"/api/v1/{path}", method).status, 403)
            self.assertEqual(self.fake.asked[-1][1:], question)
        for query in ("ledger_id=x", "ledger_id=7&ledger_id=9"):
            self.assertEqual(self.ask(f"/api/v1/ledger/read?{query}").status, 400)
        self.assertEqual(self.connected, [])

    def test_reading_pages(self) -> None:
        """Metrics, liveness and states need no permission."""
        self.refuse()
        for path in ("metrics", "heartbeat", "api/v1/bookie/state", "api/v1/bookie/state/readonly", ""):
            self.assertEqual(self.ask(f"/{path}").status, 200)
        self.assertEqual(self.fake.asked, [])

    def test_allowed(self) -> None:
        """What is allowed is done, and is a line of the audit log; so is what is refused."""
        body = '{"readOnly": true}'
        self.assertEqual(self.ask("/api/v1/bookie/state/readonly", "PUT", body).status, 200)
        self.assertTrue(self.admin.by_administrator)
        self.assertEqual(self.ask("/api/v1/bookie/sanity").status, 200)
        self.refuse()
        self.ask("/api/v1/bookie/state/readonly", "PUT", body)
        self.executor.drain()
        self.assertEqual([
            (line.split('"action": "')[1].split('"')[0], line.split('"result": "')[1].split('"')[0])
            for line in self.path.read_text().splitlines()
        ], [("admin:put", "allowed"), ("admin:get", "allowed"), ("admin:put", "refused")])  # fmt: skip

    def test_late(self) -> None:
        """A decision that needs a look-up is waited for; one that fails refuses."""
        self.fake.is_late = True
        for error, status in ((None, 200), (MetadataError("gone"), 403)):
            self.settle = lambda error=error: self.fake.answer(error)  # type: ignore[method-assign, misc]
            self.assertEqual(self.ask("/api/v1/bookie/sanity").status, status)

    def test_principal(self) -> None:
        """The principal is the one that the request has, which is nobody by default."""
        self.assertIs(principal_of(None), NOBODY)  # type: ignore[arg-type]
        alice = Principal("token", "alice")
        self.patch(api, "principal_of", lambda request: alice)
        self.fake.change(lambda principal, *question: principal == alice)
        self.assertEqual(self.ask("/api/v1/bookie/sanity").status, 200)
        self.patch(api, "principal_of", lambda request: NOBODY)
        self.assertEqual(self.ask("/api/v1/bookie/sanity").status, 403)

    def test_default(self) -> None:
        """Without authorizer and audit log nobody is asked."""
        self.admin.access = None
        self.refuse()
        self.assertEqual(self.ask("/api/v1/bookie/expand_storage", "PUT").status, 200)
        self.assertEqual(self.fake.asked, [])

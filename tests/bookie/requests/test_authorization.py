"""What a bookie answers to peers that may do some things and others not, in V2 and in V3."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.authorization import access as access_module
from bookkeeper_twisted.authorization.access import Everybody
from bookkeeper_twisted.authorization.interfaces import Permission, Surroundings
from bookkeeper_twisted.authorization.rules_authorizer import READ_AGAIN, RulesAuthorizer
from bookkeeper_twisted.bookie.requests.authorization import AuthorizingSession
from bookkeeper_twisted.bookie.requests.session import RequestSession
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.messages import (
    AuthRequest,
    BookieInfoRequest,
    ErrorResponse,
    ForceLedgerRequest,
    Header,
    ListEntriesRequest,
    ReadLacRequest,
    ReadRequest,
    StartTlsRequest,
    WriteLacRequest,
)
from bookkeeper_twisted.codec.operations import FENCE, RECOVERY_ADD, Operation, V2Op
from bookkeeper_twisted.codec.runs import AddReplies, BatchRead
from bookkeeper_twisted.codec.v2 import requests_out as v2
from bookkeeper_twisted.codec.v3 import requests_out as v3
from bookkeeper_twisted.codec.wires import V2, V3, V2Protocol
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.metrics import new_registry, pieces
from bookkeeper_twisted.protocol.interfaces import IRequestSession
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.authentication import CONTINUE, SUCCESS, TokenAuthentication

from ..rig import KEY, Rig, add_replies, adds, batch, entry, mixed, reads, run
from .access_case import AccessCase, P, of_ledgers, only

_LAC = (1).to_bytes(8, "big") + (0).to_bytes(8, "big") + b"digest"


class KindTests(AccessCase):
    """Each kind of request needs its own permission."""

    def requests(self) -> Sequence[tuple[set[Permission], object, bytes]]:
        """The permissions that are needed, the protocol and the frame of requests of every kind."""

        def head(operation: Operation) -> Header:
            return Header(V3, 3, operation, 9)

        def of_v3(needed: Permission, message: object) -> tuple[set[Permission], object, bytes]:
            return {needed}, V3, v3.encode_request(message)

        fencing = ReadRequest(head(Operation.READ), 1, 0, fence=True, master_key=KEY)
        poll = ReadRequest(head(Operation.READ), 1, -1, previous_lac=0, timeout_ms=100, piggyback=True)
        return [
            ({P.WRITE}, V2, adds(run(1, 5))),
            ({P.FENCE}, V2, adds(run(1, 6), flags=RECOVERY_ADD)),
            ({P.READ}, V2, reads(1, [0, 1])),
            ({P.READ}, V2, batch(1, 0, 3, 1000)),
            ({P.WRITE}, V3, v3.encode_adds(KEY, 1, 7, [entry(1, 7)], 0, False, 9)),
            ({P.FENCE}, V3, v3.encode_adds(KEY, 1, 8, [entry(1, 8)], RECOVERY_ADD, False, 9)),
            ({P.READ}, V3, v3.encode_reads(1, [0], 0, 9)),
            ({P.READ}, V3, v3.encode_batch_read(BatchRead(V3, 3, 0, 1, 0, 9, 3, 1000))),
            ({P.READ}, V3, v3.encode_request(poll)),
            of_v3(P.READ, ReadLacRequest(head(Operation.READ_LAC), 1)),
            of_v3(P.WRITE_LAC, WriteLacRequest(head(Operation.WRITE_LAC), 1, 0, KEY, _LAC)),
            of_v3(P.FORCE, ForceLedgerRequest(head(Operation.FORCE_LEDGER), 1)),
            of_v3(P.LIST, ListEntriesRequest(head(Operation.LIST_ENTRIES), 1)),
            of_v3(P.INFO, BookieInfoRequest(head(Operation.BOOKIE_INFO), 3)),
            ({P.FENCE, P.READ}, V2, v2.encode_request(ReadRequest(Header(V2, 2, V2Op.READ), 1, 0, True, False, KEY))),
            ({P.FENCE, P.READ}, V2, v2.encode_batch_read(BatchRead(V2, 2, FENCE, 1, 0, 9, 3, 1000, KEY))),
            ({P.FENCE, P.READ}, V3, v3.encode_request(fencing)),
            ({P.FENCE, P.READ}, V3, v3.encode_batch_read(BatchRead(V3, 3, FENCE, 1, 0, 9, 3, 1000, KEY))),
        ]  # fmt: skip

    def test_every_kind(self) -> None:
        """With its permissions a request is answered; without any one of them the answer is EUA, and it is not done."""
        kinds = self.requests()
        for needed, wire, frame in kinds:
            for missing in [*needed, None]:
                with self.subTest(needed=needed, wire=wire, missing=missing):
                    self.fake.change(only(*(needed - {missing})))
                    peer = self.rig.connect()
                    found = ClientDecoder(wire).receive(self.answers(frame, peer))  # type: ignore[arg-type]
                    statuses = {each.status for each in found}  # type: ignore[attr-defined]
                    self.assertEqual(statuses, {Status.EOK if missing is None else Status.EUA})
                    self.assertFalse(peer.ended)
                    if missing is P.WRITE:
                        self.assertIsNone(self.rig.bookie.cached(1, 5 if wire is V2 else 7))
        self.assertEqual(len(self.n_refused()), 7)

    def test_refused_fence(self) -> None:
        """A fence that is refused leaves the ledger open for its writer."""
        fencing = ReadRequest(Header(V2, 2, V2Op.READ), 1, 0, True, False, KEY)
        for allowed in ((P.WRITE, P.READ), (P.WRITE, P.FENCE)):
            self.fake.change(only(*allowed))
            self.answers(v2.encode_request(fencing))
        self.assertEqual(self.answers(adds(run(1, 5))), add_replies(run(1, 5), Status.EOK))

    def test_questions(self) -> None:
        """The authorizer is asked about the principal, the permission and the ledger; info concerns no ledger."""
        self.fake.change(only())
        for _, _, frame in self.requests():
            self.answers(frame, self.rig.connect())
        asked = {(action, ledger) for _, action, ledger in self.fake.asked}
        self.assertEqual(asked, {
            *((action, 1) for action in (P.WRITE, P.READ, P.FENCE, P.WRITE_LAC, P.FORCE, P.LIST)), (P.INFO, None),
        })  # fmt: skip
        self.assertEqual({who for who, _, _ in self.fake.asked}, {NOBODY})

    def test_no_answer(self) -> None:
        """A protocol without an answer for a refused request ends the connection; what came before is served."""

        class Silent(V2Protocol):
            def refusal(self, request: object, status: Status) -> bytes | None:
                return None

        self.fake.change(of_ledgers(1))
        self.answers(reads(1, [0]))
        session: Any = self.peer.connection._session
        wire = Silent()
        items: list[object] = []
        wire.scan_requests(reads(1, [1]) + reads(2, [0]) + reads(1, [2]), 0, 1 << 20, items)
        session.received(items)
        self.rig.engine.outbox.flush()
        self.assertEqual((len(self.peer.replies()), self.peer.ended), (28 + len(entry(1, 1)), True))

    def test_authentication_goes_through(self) -> None:
        """Requests to authenticate and to encrypt need no permission."""
        self.fake.change(only())
        auth = AuthRequest(Header(V3, 3, Operation.AUTH, 1), "x", b"")
        tls = StartTlsRequest(Header(V3, 3, Operation.START_TLS, 1))
        for request in (auth, tls):
            self.assertNotEqual(self.answers(v3.encode_request(request)), b"")
        self.assertEqual((self.fake.asked, self.peer.ended), ([], False))


class MixedTests(AccessCase):
    """Runs of several ledgers, of which some are forbidden."""

    def setUp(self) -> None:
        super().setUp()
        self.fake.change(of_ledgers(1, 3))

    def test_adds(self) -> None:
        """Exactly the adds of forbidden ledgers are refused, the others are stored."""
        entries = [entry(ledger_id, entry_id) for entry_id in (5, 6) for ledger_id in (1, 2, 3)]
        found = self.answers(adds(mixed(*entries)))
        refused, done = mixed(entries[1], entries[4]), mixed(*[e for i, e in enumerate(entries) if i not in (1, 4)])
        self.assertEqual(found, add_replies(refused, Status.EUA) + add_replies(done, Status.EOK))
        self.assertIsNone(self.rig.bookie.cached(2, 5))
        self.assertIsNotNone(self.rig.bookie.cached(3, 6))
        self.assertEqual(self.n_refused(), {"write": 2})

    def test_adds_in_runs(self) -> None:
        """So are runs of each ledger."""
        found = self.answers(adds(run(1, 5, 20)) + adds(run(2, 5, 20)) + adds(run(3, 5, 20)))
        refused = add_replies(run(2, 5, 20), Status.EUA)
        done = [add_replies(run(ledger_id, 5, 20), Status.EOK) for ledger_id in (1, 3)]
        self.assertEqual(found, refused + b"".join(done))

    def test_numbers(self) -> None:
        """In V3 each answer has the number of its request."""
        ids = [(ledger_id, entry_id) for entry_id in (5, 6) for ledger_id in (1, 2, 3)]
        sent = b"".join([
            v3.encode_adds(KEY, *pair, [entry(*pair)], 0, False, 90 + number) for number, pair in enumerate(ids)
        ])  # fmt: skip
        replies: list[Any] = [*ClientDecoder(V3).receive(self.answers(sent))]
        statuses = {
            txn: each.status for each in replies
            for txn in (each.txn_ids if isinstance(each, AddReplies) else [each.header.txn_id])
        }  # fmt: skip
        self.assertEqual({txn for txn, status in statuses.items() if status is Status.EOK}, {90, 92, 93, 95})
        self.assertEqual(set(statuses), set(range(90, 96)))
        self.assertEqual({statuses[txn] for txn in (91, 94)}, {Status.EUA})

    def test_reads(self) -> None:
        """Reads are answered in order, those of forbidden ledgers by refusals."""
        wanted = [(1, 0), (2, 0), (2, 1), (1, 1), (2, 2), (1, 2)]
        found: list[Any] = ClientDecoder(V2).receive(self.answers(b"".join([reads(i, [e]) for i, e in wanted])))  # type: ignore[assignment]
        self.assertEqual([(each.ledger_id, each.entry_id) for each in found], wanted)
        self.assertEqual([each.status for each in found], [
            Status.EOK if ledger_id == 1 else Status.EUA for ledger_id, _ in wanted
        ])  # fmt: skip
        self.assertEqual({each.entry for each in found if each.ledger_id == 2}, {None})
        sent = b"".join([v3.encode_reads(i, [e], 0, 50 + n) for n, (i, e) in enumerate(wanted)])
        numbered: list[Any] = ClientDecoder(V3).receive(self.answers(sent, self.rig.connect()))  # type: ignore[assignment]
        txn_ids = [each.header.txn_id if isinstance(each, ErrorResponse) else each.txn_id for each in numbered]
        self.assertEqual(txn_ids, list(range(50, 56)))
        self.assertEqual([each.status is Status.EOK for each in numbered], [i == 1 for i, _ in wanted])

    def test_order_of_kinds(self) -> None:
        """Allowed requests around a refused one keep their order."""
        found: list[Any] = ClientDecoder(V2).receive(self.answers(reads(1, [0]) + batch(2, 0, 2, 1000) + reads(1, [1])))  # type: ignore[assignment]
        self.assertEqual([each.status for each in found], [Status.EOK, Status.EUA, Status.EOK])


class KeptTests(AccessCase):
    """Decisions that are kept."""

    def test_asked_once(self) -> None:
        """A decision is asked for once for each principal, permission and ledger, by all its connections together."""
        other = self.rig.connect()
        for peer in (self.peer, other, self.peer):
            for entry_id in (5, 6):
                self.answers(adds(run(1, entry_id)) + reads(1, [0]) + reads(2, [0]), peer)
        self.assertEqual([question[1:] for question in self.fake.asked], [(P.WRITE, 1), (P.READ, 1), (P.READ, 2)])

    def test_changed_rules(self) -> None:
        """New rules hold for the next request of connections that are open, also for recovery adds."""
        ask = (adds(run(1, 5)), reads(1, [0]), adds(run(1, 6), flags=RECOVERY_ADD))
        for frame in ask * 2:
            self.answers(frame)
        self.fake.change(only())
        for frame, of in zip(ask, (V2, V2, V2), strict=True):
            (found,) = ClientDecoder(of).receive(self.answers(frame))
            self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]
        self.fake.change(of_ledgers(1))
        (found,) = ClientDecoder(V2).receive(self.answers(reads(1, [0])))
        self.assertIs(found.status, Status.EOK)  # type: ignore[attr-defined]

    def test_recovery_adds(self) -> None:
        """A known writer that may not fence cannot do recovery adds, and the other way round."""
        flags = {P.WRITE: 0, P.FENCE: RECOVERY_ADD}
        for allowed, other in ((P.WRITE, P.FENCE), (P.FENCE, P.WRITE)):
            self.fake.change(only(allowed))
            for entry_id in (5, 6):
                good, bad = run(3, entry_id), run(3, entry_id + 2)
                self.assertEqual(self.answers(adds(good, flags=flags[allowed])), add_replies(good, Status.EOK))
                self.assertEqual(self.answers(adds(bad, flags=flags[other])), add_replies(bad, Status.EUA))

    def test_other_principal(self) -> None:
        """Decisions for one principal are not used when the connection has another one."""
        self.fake.change(lambda principal, action, ledger_id: principal is NOBODY)
        self.answers(reads(1, [0]))
        self.peer.connection.principal = Principal("token", "x")
        (found,) = ClientDecoder(V2).receive(self.answers(reads(1, [0])))
        self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]

    def test_bounded(self) -> None:
        """S11: the decisions that are kept have a limit."""
        self.patch(access_module, "MOST_DECISIONS", 3)
        for ledger_id in range(20):
            self.answers(reads(ledger_id, [0]))
        self.assertLessEqual(len(self.access.decisions(NOBODY).by_action[P.READ]), 3)
        many = [entry(ledger_id, 0) for ledger_id in range(50, 70)]
        self.assertEqual(self.answers(adds(mixed(*many))), add_replies(mixed(*many), Status.EOK))

    def test_forgotten(self) -> None:
        """Without a connection of a principal nothing is kept for it."""
        self.answers(reads(1, [0]))
        self.assertEqual(len(self.access._decisions), 1)
        self.peer.leave()
        self.assertEqual(len(self.access._decisions), 0)

    def test_nothing_without_rules(self) -> None:
        """Without authorizer and audit log there is no such session."""
        peer = Rig().connect()
        self.assertIsInstance(peer.connection._session, RequestSession)
        self.assertIsInstance(self.peer.connection._session, AuthorizingSession)
        verifyObject(IRequestSession, self.peer.connection._session)

    def test_after_authentication(self) -> None:
        """The decisions are those for the principal that was proven, whatever was asked before."""
        self.start(self.fake, authentication=TokenAuthentication())
        self.fake.change(lambda principal, action, ledger_id: principal.name == "tester")
        tls = StartTlsRequest(Header(V3, 3, Operation.START_TLS, 1))
        self.answers(v3.encode_request(tls))
        auth = AuthRequest(Header(V3, 3, Operation.AUTH, 7), "TestAuthProviderPlugin", CONTINUE)
        self.assertIn(SUCCESS, self.answers(v3.encode_request(auth)))
        (found,) = ClientDecoder(V3).receive(self.answers(v3.encode_reads(1, [0])))
        self.assertIs(found.status, Status.EOK)  # type: ignore[attr-defined]
        self.assertEqual({who.name for who, _, _ in self.fake.asked}, {"tester"})


class RulesFileTests(AccessCase):
    """The authorizer of a file, with connections that are open."""

    async def custom(self, ledger_id: int) -> Mapping[str, bytes]:
        answer: Deferred[Mapping[str, bytes]] = Deferred()
        self.answer = answer
        return await answer

    def test_file(self) -> None:
        """Rules that are replaced hold for open connections after five seconds; look-ups are those of the ledger."""
        rules = Path(self.mktemp())
        rules.write_text("allow nobody read custom:application=pulsar\n")
        clock = self.rig.clock
        authorizer = RulesAuthorizer(str(rules), Surroundings(clock, self.custom))
        self.start(authorizer)
        self.addCleanup(authorizer.stop)
        self.assertEqual(self.answers(reads(1, [0])), b"")
        self.answer.callback({"application": b"pulsar"})
        (found,) = ClientDecoder(V2).receive(self.peer.replies())
        self.assertIs(found.status, Status.EOK)  # type: ignore[attr-defined]
        rules.write_text("allow nobody write\n")
        clock.advance(READ_AGAIN)
        (found,) = ClientDecoder(V2).receive(self.answers(reads(1, [0])))
        self.assertIs(found.status, Status.EUA)  # type: ignore[attr-defined]


class AuditTests(AccessCase):
    """What the session records."""

    def test_lines(self) -> None:
        """Fences, the first recovery add of a ledger and refusals are lines; adds and reads are none."""
        self.start(Everybody())
        fencing = ReadRequest(Header(V2, 2, V2Op.READ), 1, 0, True, False, KEY)
        self.answers(adds(run(1, 5)) + reads(1, [0]) + v2.encode_request(fencing))
        for entry_id in (6, 7):
            self.answers(adds(run(2, entry_id), flags=RECOVERY_ADD))
        self.answers(adds(run(2, 8), flags=RECOVERY_ADD), self.rig.connect())
        self.assertEqual(self.lines(), [
            ("fence", 1, "allowed", 1), ("fence", 2, "allowed", 1), ("fence", 2, "allowed", 1),
        ])  # fmt: skip

    def test_refusals(self) -> None:
        """A run that is refused is one line with its number."""
        self.fake.change(of_ledgers(2))
        self.answers(adds(run(1, 5, 20)))
        self.assertEqual(self.lines(), [("write", 1, "refused", 20)])

    def test_stop(self) -> None:
        """The stop of a bookie writes the last lines and stops the authorizer."""
        self.assertTrue(self.fake.is_running)
        self.fake.change(only())
        for _ in range(3):
            self.peer.send(reads(1, [0]))
        stopping = Deferred.fromCoroutine(self.rig.engine.stop())
        for _ in range(5):
            self.rig.drain()
        self.peer.leave()
        self.rig.drain()
        self.successResultOf(stopping)
        self.assertEqual(sum(count for *_, count in self.lines()), 3)
        self.assertFalse(self.fake.is_running)


class MetricsTests(SynchronousTestCase):
    """Connections by the kind of their principal."""

    def test_connections(self) -> None:
        """Each kind has a number; no name of a principal is a label."""
        rig = Rig()
        peers = [rig.connect() for _ in range(3)]
        peers[0].connection.principal = Principal("certificate", "CN=secret")
        text = b"".join(pieces(new_registry(rig.engine.instruments)))
        name = b"bookie_connections_by_principal"
        for kind, count in ((b"certificate", 1), (b"none", 2), (b"sasl", 0)):
            self.assertIn(b'%b{principal_kind="%b"} %d' % (name, kind, count), text)
        self.assertNotIn(b"secret", text)
        self.assertNotIn(b"authorization_refused", text)

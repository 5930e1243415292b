"""GSSAPI without a KDC; ``tests.kerberos`` has one."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorThreads
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from bookkeeper_twisted.authentication.plugins import SaslPlugin
from bookkeeper_twisted.authentication.sasl.gssapi_contexts import installed_kerberos
from bookkeeper_twisted.authentication.sasl.jaas import KerberosLogin
from bookkeeper_twisted.authentication.sasl.kerberos import WorkTurns
from bookkeeper_twisted.authentication.sasl.sides import SaslBookie, SaslClient, SaslWorld
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.protocol.authentication import IAuthenticationExchange, IUnansweredExchange, Peer
from bookkeeper_twisted.security.files import REFRESH_SECONDS
from bookkeeper_twisted.security.principals import Principal
from bookkeeper_twisted.testing.contracts import authentication_contract

from .fake_kerberos import REALM, FakeKerberos, signed
from .sasl_case import BOOKIE, JAAS, SaslCase

_LOGIN = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/keys"'
_WRITER = f"bookkeeper-writer@{REALM}"
_TICKET = f"ticket {_WRITER} bookkeeper/bookie@{REALM}".encode()
_NONE = b"\1\0\0\0"
_KERBEROS = f"""\
Bookie {{ {_LOGIN} principal="bookkeeper/bookie@{REALM}"; }};
BookKeeper {{ {_LOGIN} principal="{_WRITER}"; }};
Stranger {{ {_LOGIN} principal="stranger@{REALM}"; }};
"""


class KerberosCase(SaslCase):
    """Sides with a Kerberos that is none."""

    mechanism = "GSSAPI"

    def setUp(self) -> None:
        super().setUp()
        self.kerberos = FakeKerberos()
        self.world = attrs.evolve(self.world, kerberos=lambda: self.kerberos)
        self.write(_KERBEROS)

    def offered(self, bookie: Any) -> None:
        """Bring a bookie to its offer by a client that does not ask it for a proof, as Java's."""
        self.assertEqual(self.token(bookie, _TICKET), signed(_NONE))


class _Plugin(SaslPlugin):
    def __init__(self, world: SaslWorld) -> None:
        self._world = world

    def for_bookie(self, config: Any) -> SaslBookie:
        return SaslBookie(config, self._world)

    def for_client(self, config: Any) -> SaslClient:
        return SaslClient(config, self._world)


class ContractTests(authentication_contract.AuthenticationContract, KerberosCase):
    """The contract."""

    def setUp(self) -> None:
        KerberosCase.setUp(self)
        authentication_contract.AuthenticationContract.setUp(self)

    def make(self) -> SaslPlugin:
        return _Plugin(self.world)

    def make_config(self) -> Any:
        return self.config()


class BookieTests(KerberosCase):
    """The bookie's side."""

    def test_exchange(self) -> None:
        """A client that asks for a proof gets it before the offer."""
        bookie = self.bookie()
        self.assertEqual(self.token(bookie, _TICKET + b" !"), b"proof")
        self.assertEqual(self.token(bookie, b""), signed(_NONE))
        self.assertFalse(bookie.complete)
        self.assertEqual(self.token(bookie, signed(_NONE)), b"")
        self.assertEqual((bookie.complete, bookie.principal), (True, Principal("sasl", _WRITER)))

    def test_java(self) -> None:
        """Java's client asks for no proof, chooses a size of messages all the same, and names itself."""
        bookie = self.bookie()
        self.offered(bookie)
        self.assertEqual(self.token(bookie, signed(b"\1\1\0\0" + _WRITER.encode())), b"")
        self.assertEqual(bookie.principal.name, _WRITER)

    def test_refused_tickets(self) -> None:
        """What is no ticket for this bookie is refused."""
        for ticket in (b"ticket x y", b"nothing a b"):
            self.assertIn("no ticket for this service", self.refused(self.bookie(), ticket))

    def test_refused_choices(self) -> None:
        """A choice that is not signed, was not offered, is too short or names somebody else is refused."""
        for choice, reason in (
            (_NONE, "not signed"), (signed(b"\2\0\0\0"), "a protection that was not offered"),
            (signed(b"\3\0\0\0"), "a protection that was not offered"), (signed(b"\1\0\0"), "not offered"),
            (signed(b""), "not offered"), (signed(_NONE + b"\xff"), "not UTF-8"),
            (signed(_NONE + b"bookkeeper-other@A"), "wants to act as another"),
        ):  # fmt: skip
            bookie = self.bookie()
            self.offered(bookie)
            self.assertIn(reason, self.refused(bookie, choice))

    def test_allowed_ids(self) -> None:
        """The whole principal has to match."""
        bookie = self.bookie(sasl_jaas_client_allowed_ids="bookkeeper-writer")
        self.offered(bookie)
        self.assertIn("is not among saslJaasClientAllowedIds", self.refused(bookie, signed(_NONE)))

    def test_token_in_the_wrong_place(self) -> None:
        """Behind the proof nothing is expected, and behind the end neither."""
        bookie = self.bookie()
        self.token(bookie, _TICKET + b" !")
        self.assertIn("where GSSAPI has none", self.refused(bookie, signed(_NONE)))
        bookie = self.bookie()
        self.offered(bookie)
        self.token(bookie, signed(_NONE))
        failure = self.failureResultOf(bookie.next_token(signed(_NONE)))
        self.assertIn("has ended", str(failure.value))


class ClientTests(KerberosCase):
    """The client's side."""

    def test_exchange(self) -> None:
        """It asks for a ticket for the host, believes a proof, and is complete with its choice."""
        client = self.client(peer=Peer("id", host="bookie"))
        self.assertEqual(self.token(client, None), _TICKET + b" !")
        self.assertEqual(self.token(client, b"proof"), b"")
        self.assertFalse(client.complete)
        self.assertEqual(self.token(client, signed(b"\7\1\0\0")), signed(_NONE))
        self.assertTrue(client.complete)
        self.assertEqual(self.token(client, b""), b"")
        self.assertTrue(IUnansweredExchange.providedBy(client))
        self.assertTrue(IAuthenticationExchange.providedBy(client))

    def test_hosts(self) -> None:
        """Without a host that is known, it is that of the bookie's id."""
        for peer, host in ((BOOKIE, b"bookie"), (Peer("[::1]:1"), b"::1"), (Peer("a:1", host="b"), b"b")):
            self.assertIn(b"/%s@" % host, self.token(self.client(peer=peer), None))

    def test_service(self) -> None:
        """The service can have another name."""
        self.assertIn(b" log/bookie@", self.token(self.client(sasl_service_name="log"), None))

    def test_no_proof(self) -> None:
        """A bookie that proves nothing is refused."""
        client = self.client()
        self.token(client, None)
        self.assertIn("no proof", self.refused(client, b"nothing"))

    def test_refused_offers(self) -> None:
        """An offer that is not signed, lacks the usual kind, or has another form is refused."""
        for offer, reason in (
            (_NONE, "not signed"), (signed(b"\6\0\0\0"), "does not offer"), (signed(_NONE + b"x"), "does not offer"),
            (signed(b""), "does not offer"),
        ):  # fmt: skip
            client = self.client()
            self.token(client, None)
            self.token(client, b"proof")
            self.assertIn(reason, self.refused(client, offer))


class KeyTabTests(KerberosCase):
    """Files of keys that change while a process runs."""

    def setUp(self) -> None:
        super().setUp()
        self.key_tab = Path(self.mktemp())
        self.key_tab.touch(0o600)
        self.write(_KERBEROS.replace("/keys", str(self.key_tab)))

    def logged(self, ask: Callable[[], object]) -> list[tuple[str, str]]:
        """The level and the begin of each line of the log when a side is used again."""
        self.clock.advance(REFRESH_SECONDS)
        with capturedLogs() as events:
            ask()
            ask()
        return [(event["log_level"].name, formatEvent(event).partition(" have changed")[2]) for event in events]

    def test_changes(self) -> None:
        """Broken keys are one line of the log, and the previous ones stay in use; new ones are used, with a line."""

        def admit() -> None:
            self.token(bookie.bookie_exchange(BOOKIE), _TICKET)

        def begin() -> None:
            self.token(client.client_exchange(BOOKIE), None)

        for ask in (admit, begin):
            bookie, client = SaslBookie(self.config(), self.world), SaslClient(self.config(), self.world)
            self.assertEqual(self.logged(ask), [])
            self.kerberos.unusable = "no keys"
            self.key_tab.write_bytes(b"1" * (1 + self.key_tab.stat().st_size))
            reason = " and cannot be used, the previous ones stay in use: no keys"
            self.assertEqual(self.logged(ask), [("error", reason)])
            self.assertEqual(self.logged(ask), [])
            self.kerberos.unusable = ""
            self.key_tab.write_bytes(b"2" * (1 + self.key_tab.stat().st_size))
            self.assertEqual(self.logged(ask), [("info", ": the new ones are in use")])

    def test_start(self) -> None:
        """At the start, keys that cannot be used are refused."""
        self.kerberos.unusable = "no keys"
        for side in (SaslBookie, SaslClient):
            self.assertIn("no keys", str(self.assertRaises(ConfigError, side, self.config(), self.world)))

    def test_cache(self) -> None:
        """A client with a cache of tickets has no file of keys."""
        self.write(_KERBEROS.replace("useKeyTab", "useTicketCache"))
        side = SaslClient(self.config(), self.world)
        self.kerberos.unusable = "no keys"
        self.assertEqual(self.logged(lambda: self.token(side.client_exchange(BOOKIE), None)), [])


class ChoiceTests(KerberosCase):
    """Which mechanism a side has."""

    mechanism = ""

    def test_by_section(self) -> None:
        """Without the name of a mechanism the section decides, as with Apache's; after a change, too."""
        side = SaslBookie(self.config(), self.world)
        self.assertEqual(self.token(side.bookie_exchange(BOOKIE), _TICKET), signed(_NONE))
        self.assertEqual(self.kerberos.logins, [KerberosLogin(f"bookkeeper/bookie@{REALM}", "/keys", "")])
        self.write(JAAS)
        self.clock.advance(5)
        self.assertIn(b"md5-sess", self.token(side.bookie_exchange(BOOKIE), b""))

    def test_by_name(self) -> None:
        """A section that is not for the mechanism with the name is refused."""
        for text, mechanism, reason in (
            (_KERBEROS, "DIGEST-MD5", "is for Kerberos (GSSAPI), and saslMechanism is another"),
            (_KERBEROS, "PLAIN", "is for Kerberos (GSSAPI), and saslMechanism is another"),
            (JAAS, "gssapi", "has no module Krb5LoginModule"),
        ):
            self.write(text)
            for side in (SaslBookie, SaslClient):
                config = self.config(sasl_mechanism=mechanism)
                self.assertIn(reason, str(self.assertRaises(ConfigError, side, config, self.world)))

    def test_no_tickets_for_bookies(self) -> None:
        """A bookie has to have keys."""
        self.write(_KERBEROS.replace("useKeyTab", "useTicketCache"))
        SaslClient(self.config(), self.world)
        error = self.assertRaises(ConfigError, SaslBookie, self.config(), self.world)
        self.assertIn("a bookie needs the options useKeyTab=true, keyTab and principal", str(error))


class LibraryTests(SynchronousTestCase):
    """The package."""

    def test_missing(self) -> None:
        """Without it, the extra is named."""
        found = sys.modules.get("gssapi")
        sys.modules["gssapi"] = None  # type: ignore[assignment]
        self.addCleanup(sys.modules.pop, "gssapi")
        if found is not None:
            self.addCleanup(sys.modules.__setitem__, "gssapi", found)
        error = self.assertRaises(ConfigError, installed_kerberos)
        self.assertIn("pip install 'bookkeeper-twisted[kerberos]'", str(error))


@implementer(IReactorThreads)
class _Threads:
    """A reactor whose threads work when they are told to."""

    def __init__(self) -> None:
        self.work: list[Callable[[], object]] = []

    def getThreadPool(self) -> Any:
        return self

    def callInThreadWithCallback(self, told: Any, work: Any, *args: Any) -> None:
        self.work.append(lambda: told(True, work(*args)))

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        callable(*args, **kwargs)

    def callInThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        raise NotImplementedError

    def suggestThreadPoolSize(self, size: int) -> None:
        raise NotImplementedError


class TurnTests(SynchronousTestCase):
    """Work in threads."""

    def setUp(self) -> None:
        self.turns, self.threads = WorkTurns(), _Threads()

    def test_one_at_a_time(self) -> None:
        """The second work begins when the first has ended."""
        first, second = (self.turns.run(self.threads, partial(int, number)) for number in (1, 2))
        self.assertEqual(len(self.threads.work), 1)
        self.threads.work.pop()()
        self.assertEqual(self.successResultOf(first), 1)
        self.assertNoResult(second)
        self.threads.work.pop()()
        self.assertEqual(self.successResultOf(second), 2)

    def test_cancelled(self) -> None:
        """Work that is cancelled keeps its turn while it runs, and is never begun if it only waits."""
        first, second, third = (self.turns.run(self.threads, partial(int, number)) for number in range(3))
        for each in (first, second):
            each.cancel()
            self.failureResultOf(each, CancelledError)
        self.assertEqual(len(self.threads.work), 1)
        self.threads.work.pop()()
        self.threads.work.pop()()
        self.assertEqual(self.successResultOf(third), 2)

    def test_without_threads(self) -> None:
        """A reactor without threads waits for the work."""
        self.assertEqual(self.successResultOf(self.turns.run(None, lambda: 1)), 1)

"""The authorizer of a file: changed files, look-ups."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization import look_ups
from bookkeeper_twisted.authorization.interfaces import Permission, Surroundings
from bookkeeper_twisted.authorization.look_ups import AT_ONCE, REFUSED_FOR, TIME_LIMIT
from bookkeeper_twisted.authorization.plugins import EverybodyPlugin, RulesPlugin, authorizer_of
from bookkeeper_twisted.authorization.rules_authorizer import MOST_BYTES, READ_AGAIN, RulesAuthorizer
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.errors import ConfigError, MetadataError
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.testing.contracts import authorization_contract

ALICE = Principal("sasl", "alice")
READ = Permission.READ


class RulesCase(SynchronousTestCase):
    """A file of rules, and a metadata store that answers when a test says so."""

    text = "allow sasl:alice read custom:application=pulsar\nallow sasl:bob read\n"

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_text(self.text)
        self.clock = Clock()
        self.asked: list[tuple[int, Deferred[Mapping[str, bytes]]]] = []
        self.authorizer = RulesAuthorizer(str(self.path), Surroundings(self.clock, self.read))
        self.authorizer.start()
        self.addCleanup(self.authorizer.stop)

    async def read(self, ledger_id: int) -> Mapping[str, bytes]:
        answer: Deferred[Mapping[str, bytes]] = Deferred()
        self.asked.append((ledger_id, answer))
        return await answer

    def decide(self, who: Principal = ALICE, action: Permission = READ, ledger_id: int | None = 1) -> Any:
        return self.authorizer.decide(who, action, ledger_id)


class FileTests(RulesCase):
    """Files that change while they are in force."""

    def change(self, text: str) -> None:
        self.path.write_text(text)
        os.utime(self.path, (self.clock.seconds(), self.clock.seconds()))
        self.clock.advance(READ_AGAIN)

    def test_changed(self) -> None:
        """A changed file is in force after five seconds, and the revision says so."""
        bob = Principal("sasl", "bob")
        self.assertIs(self.decide(bob), True)
        before = self.authorizer.revision
        self.change("deny * all\n")
        self.assertIs(self.decide(bob), False)
        self.assertNotEqual(self.authorizer.revision, before)
        again = self.authorizer.revision
        self.change("deny * all\n")
        self.assertEqual(self.authorizer.revision, again)

    def test_broken(self) -> None:
        """A file that is no file of rules any more changes nothing, and is one line in the log."""
        bob = Principal("sasl", "bob")
        with capturedLogs() as events:
            for text in ("allow\n", "allow * all", "\udc80\n".encode(errors="surrogateescape").decode("latin-1")):
                self.change(text)
                self.assertIs(self.decide(bob), True)
            self.clock.advance(READ_AGAIN)
            self.path.unlink()
            self.clock.advance(READ_AGAIN)
            self.clock.advance(READ_AGAIN)
        lines = [formatEvent(event) for event in events]
        self.assertEqual(len(lines), 4)
        self.assertTrue(all("the previous ones stay in use" in line for line in lines))
        self.assertEqual(self.authorizer.revision, 0)
        self.path.write_text("deny * all\n")
        self.clock.advance(READ_AGAIN)
        self.assertIs(self.decide(bob), False)

    def test_odd_files(self) -> None:
        """A FIFO, a directory, an empty and a large file and one that all may write to are refused, without waiting."""
        fifo, folder, empty, large, shared = (Path(self.mktemp()) for _ in range(5))
        os.mkfifo(fifo)
        folder.mkdir()
        empty.touch()
        large.write_bytes(b"#" * (MOST_BYTES + 1))
        shared.write_text(self.text)
        shared.chmod(0o666)
        for path, reason in (
            (fifo, "regular"), (folder, "regular"), (empty, "no rule"), (large, "more than"), (shared, "everybody"),
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, RulesAuthorizer, str(path), Surroundings(self.clock, self.read))
            self.assertIn(reason, str(error))

    def test_stop(self) -> None:
        """A stopped authorizer looks no more."""
        self.authorizer.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])


class LookUpTests(RulesCase):
    """Decisions that need custom metadata."""

    def test_once(self) -> None:
        """A ledger is looked up once for all that ask, and is known then; other ledgers need none."""
        first, second = self.decide(), self.decide()
        self.assertEqual([ledger_id for ledger_id, _ in self.asked], [1])
        self.asked[0][1].callback({"application": b"pulsar", "other": b"x"})
        self.assertEqual((self.successResultOf(first), self.successResultOf(second)), (True, True))
        self.assertIs(self.decide(), True)
        self.assertIs(self.decide(action=Permission.WRITE), False)
        self.assertIs(self.decide(ledger_id=None), False)
        self.assertIs(self.decide(NOBODY, ledger_id=2), False)
        other = self.decide(ledger_id=2)
        self.asked[1][1].callback({"application": b"other"})
        self.assertEqual(self.successResultOf(other), False)

    def test_failed(self) -> None:
        """A failed look-up refuses, is not repeated for a second, and is one line a minute."""
        with capturedLogs() as events:
            for i in range(3):
                asked = self.decide()
                self.asked[i][1].errback(MetadataError("gone"))
                self.failureResultOf(asked, MetadataError)
                self.failureResultOf(self.decide(), MetadataError)
                self.clock.advance(REFUSED_FOR)
            self.clock.advance(60)
            asked = self.decide()
            self.asked[3][1].errback(MetadataError("gone again"))
            self.failureResultOf(asked, MetadataError)
        lines = [formatEvent(event) for event in events]
        self.assertEqual(len(lines), 2)
        self.assertIn("ledger 1 cannot be looked up, requests are refused: gone", lines[0])
        self.assertIn("2 such look-ups", lines[1])

    def test_late(self) -> None:
        """A store that does not answer refuses after the time limit."""
        asked = self.decide()
        self.clock.advance(TIME_LIMIT - 0.1)
        self.assertNoResult(asked)
        self.clock.advance(0.1)
        self.failureResultOf(asked, MetadataError)
        self.assertTrue(self.asked[0][1].called)  # it was cancelled, so that others have its place
        self.assertEqual(len(self.clock.getDelayedCalls()), 1)

    def test_many(self) -> None:
        """Few look-ups are under way at a time; the others wait for their turn, and for the time limit at most."""
        asked = [self.decide(ledger_id=i) for i in range(AT_ONCE + 2)]
        self.assertEqual(len(self.asked), AT_ONCE)
        self.asked[0][1].callback({"application": b"pulsar"})
        self.assertEqual((self.successResultOf(asked[0]), len(self.asked)), (True, AT_ONCE + 1))
        self.clock.advance(TIME_LIMIT)
        for each in asked[1:]:
            self.failureResultOf(each, MetadataError)

    def test_turns(self) -> None:
        """Principals take turns: who asks about many ledgers does not make others wait, not even for the same one."""
        look_up, ask = self.authorizer._custom.look_up, self.asked
        many = [look_up(ledger_id, "a") for ledger_id in range(1000, 1100)]
        other = [look_up(ledger_id, "b") for ledger_id in (5000, 1099)]
        for number in range(4):
            ask[number][1].callback({})
        self.assertEqual([ledger_id for ledger_id, _ in ask[AT_ONCE:]], [1000 + AT_ONCE, 5000, 1001 + AT_ONCE, 1099])
        for each in (*many, *other):
            each.addErrback(lambda _: None)
        self.authorizer.stop()

    def test_cancelled(self) -> None:
        """Who asks no more ends its own wait; what nobody waits for is not looked up."""
        first, second = self.decide(), self.decide()
        first.cancel()
        self.failureResultOf(first)
        self.asked[0][1].callback({"application": b"pulsar"})
        self.assertEqual(self.successResultOf(second), True)
        others = [self.decide(ledger_id=i) for i in range(2, AT_ONCE + 3)]
        others[-1].cancel()
        self.failureResultOf(others[-1])
        for _, answer in self.asked[1:]:
            answer.callback({})
        self.assertEqual(len(self.asked), AT_ONCE + 1)

    def test_bounded(self) -> None:
        """S11: few ledgers are known, those asked about last, and of each only what rules ask for."""
        self.patch(look_ups, "MOST_KEPT", 2)
        for ledger_id in (1, 2, 3):
            self.decide(ledger_id=ledger_id)
            self.asked[-1][1].callback({"application": b"pulsar", "large": bytes(100_000)})
        custom = self.authorizer._custom
        self.assertEqual([custom.known(i) for i in (1, 2, 3)], [None, *[{"application": b"pulsar"}] * 2])

    def test_rules_changed_meanwhile(self) -> None:
        """A decision that waits is made by the rules that are in force in the end."""
        asked = self.decide()
        self.path.write_text("allow sasl:alice read custom:tier=1\n")
        self.clock.advance(READ_AGAIN - 0.1)
        self.assertNoResult(asked)
        self.authorizer._look()
        self.asked[0][1].callback({"application": b"pulsar", "tier": b"2"})
        self.assertEqual(self.successResultOf(asked), False)
        self.clock.advance(0)

    def test_stop(self) -> None:
        """A stop ends the waits."""
        asked = [self.decide(ledger_id=i) for i in range(AT_ONCE + 1)]
        self.authorizer.stop()
        for each in asked:
            self.failureResultOf(each)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class ContractTests(authorization_contract.AuthorizationContract):
    """The contract on the plugin."""

    def make(self) -> RulesPlugin:
        return RulesPlugin()

    def make_config(self) -> BookieConfig:
        path = Path(self.mktemp())
        path.write_text("allow sasl:alice read custom:application=pulsar\nallow certificate:CN=x all ledgers=1-5\n")
        return BookieConfig(authorizer_class="rules", authorization_rules=str(path))


class EverybodyTests(authorization_contract.AuthorizationContract):
    """The contract on the plugin that allows everything."""

    def make(self) -> EverybodyPlugin:
        return EverybodyPlugin()


class ChoiceTests(SynchronousTestCase):
    """The keys."""

    def of(self, **keys: Any) -> Any:
        return authorizer_of(BookieConfig(**keys), Surroundings(Clock(), lambda ledger_id: Deferred()))

    def test_names(self) -> None:
        """The default is no authorizer; a name that no plugin answers to is refused with the known ones."""
        self.assertIsNone(self.of())
        self.assertIsNone(self.of(authorizer_class="everybody"))
        error = self.assertRaises(ConfigError, self.of, authorizer_class="nothing")
        self.assertRegex(str(error), "authorizerClass = 'nothing'.*everybody, none, rules")

    def test_files(self) -> None:
        """Rules without a file, a file without rules and a file that is none do not start a bookie."""
        for keys, reason in (
            ({"authorizer_class": "rules"}, "needs a file"), ({"authorization_rules": "/x"}, "only with"),
            ({"authorizer_class": "rules", "authorization_rules": "/nowhere/x"}, "No such file"),
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, self.of, **keys)
            self.assertRegex(str(error), f"authorizationRules = .*{reason}")

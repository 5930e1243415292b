"""Writable or read-only, and who knows."""

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.bookie import WriteMode
from bookkeeper_twisted.bookie.lifecycle.registration import (
    FIRST_WAIT,
    RETRY_SECONDS,
    WITHDRAWAL_SECONDS,
    BookieRegistration,
)
from bookkeeper_twisted.errors import BookieRegisteredError, MetadataError, MetadataUnavailableError
from bookkeeper_twisted.model import BookieServiceInfo


class _Store:
    """The part of a metadata store that a bookie registers with; answers when told."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.failures: list[Exception] = []
        self.gate: Deferred[None] = succeed(None)

    async def register_bookie(self, bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        self.calls.append((bookie_id, "read-only" if read_only else "writable"))
        gate = self.gate
        await gate
        if self.failures:
            raise self.failures.pop()

    async def unregister_bookie(self, bookie_id: str) -> None:
        self.calls.append("gone")
        await self.gate


class RegistrationTests(SynchronousTestCase):
    """One flag, one registration."""

    def setUp(self) -> None:
        self.store, self.clock, self.mode = _Store(), Clock(), WriteMode()
        self.registration = BookieRegistration(
            self.mode, self.store, "b1", self.clock  # type: ignore[arg-type]
        )  # fmt: skip

    def register(self) -> None:
        self.successResultOf(Deferred.fromCoroutine(self.registration.register(BookieServiceInfo())))

    def begin(self) -> "Deferred[None]":
        """Begin to withdraw the registration from a store that does not answer."""
        self.register()
        self.store.gate = Deferred()
        return Deferred.fromCoroutine(self.registration.withdraw())

    def end(self) -> None:
        """The withdrawal ends at once, well."""
        self.successResultOf(Deferred.fromCoroutine(self.registration.end_withdrawal()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_register(self) -> None:
        """A bookie registers as what it is."""
        self.register()
        self.assertEqual((self.store.calls, self.registration.registered), ([("b1", "writable")], True))

    def test_abandoned(self) -> None:
        """A first registration that waits is cancelled, one that is made stays."""
        self.registration.abandon()
        self.store.gate = Deferred()
        registering = Deferred.fromCoroutine(self.registration.register(BookieServiceInfo()))
        self.assertNoResult(registering)
        self.registration.abandon()
        self.failureResultOf(registering, CancelledError)
        self.assertFalse(self.registration.registered)
        self.store.gate = succeed(None)
        self.register()
        self.registration.abandon()
        self.assertTrue(self.registration.registered)

    def test_since(self) -> None:
        """Each reason has the time at which it began, also if it is given again."""
        self.clock.advance(5)
        self.registration.set_read_only("full", True)
        self.clock.advance(1)
        self.registration.set_read_only("full", True)
        self.registration.set_read_only("forced", True)
        self.assertEqual((self.registration.reasons, self.registration.since), (("full", "forced"), (5.0, 6.0)))
        self.registration.set_read_only("full", False)
        self.assertEqual(self.registration.since, (6.0,))

    def test_began_before(self) -> None:
        """What holds before the registration may be older than the process, unless its beginning is known."""
        self.clock.advance(9)
        self.registration.set_read_only("full", True)
        self.registration.set_read_only("kept", True, 5.0)
        self.assertEqual((self.registration.since, self.registration.began_before), ((9.0, 5.0), {"full"}))
        self.register()
        self.registration.set_read_only("full", True)
        self.registration.set_read_only("new", True)
        self.assertEqual(self.registration.began_before, {"full"})
        self.registration.set_read_only("full", False)
        self.registration.set_read_only("full", True)
        self.assertEqual(self.registration.began_before, frozenset())

    def test_kind(self) -> None:
        """A reason whose text changes is the same one: it began with the first text, or before the process."""
        for at_least in (True, False):
            first = self.clock.seconds()
            self.registration.set_read_only("failed: a", True, kind="failed")
            self.clock.advance(5)
            self.registration.set_read_only("failed: b", True, kind="failed")
            self.registration.set_read_only("failed: a", False, kind="failed")
            self.registration.set_read_only("full", True, kind="failed")
            self.assertEqual((self.registration.reasons, self.registration.since), (("failed: b", "full"),
                                                                                    (first, first + 5)))  # fmt: skip
            self.assertEqual("failed: b" in self.registration.began_before, at_least)
            self.registration.set_read_only("failed: b", False)
            self.registration.set_read_only("full", False)
            self.register()

    def test_read_only_from_the_start(self) -> None:
        """A reason that holds before the registration makes it a read-only one, and nothing is told before."""
        self.registration.set_read_only("forced", True)
        self.assertEqual(self.store.calls, [])
        self.register()
        self.assertEqual(self.store.calls, [("b1", "read-only")])

    def test_logged(self) -> None:
        """The log says why the bookie became read-only, and later what is no reason any more; each once."""
        self.register()
        with capturedLogs() as events:
            for holds in (True, True, False, False):
                self.registration.set_read_only("a checkpoint found no space", holds)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "the bookie is read-only now: a checkpoint found no space",
                "the bookie is writable again; it was read-only because a checkpoint found no space",
            ],
        )

    def test_more_reasons(self) -> None:
        """Reasons that come and go while the bookie is read-only are lines, too, with those that are left."""
        self.register()
        with capturedLogs() as events:
            steps = (("full", True), ("forced", True), ("forced", True), ("full", False), ("forced", False))
            for reason, holds in steps:
                self.registration.set_read_only(reason, holds)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "the bookie is read-only now: full",
                "the bookie stays read-only: full; forced is one more reason",
                "the bookie stays read-only: forced; full is no reason any more",
                "the bookie is writable again; it was read-only because forced",
            ],
        )

    def test_high_priority(self) -> None:
        """The log says once why recovery adds are refused, and when they are accepted again."""
        with capturedLogs() as events:
            for accepted in (True, False, False, True):
                self.registration.set_high_priority(accepted, "no space")
                self.assertIs(self.mode.high_priority, accepted)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "recovery adds are refused while the bookie is read-only: no space",
                "recovery adds are accepted again, also while the bookie is read-only",
            ],
        )

    def test_late_registration_is_logged(self) -> None:
        """Where the store did not take a change of mode, the log says when it has it."""
        self.register()
        self.store.failures.append(MetadataError("away"))
        with capturedLogs() as events:
            self.registration.set_read_only("full", True)
            self.clock.advance(RETRY_SECONDS)
        self.assertEqual(
            [formatEvent(event) for event in events][1:],
            [
                "the metadata store did not take the change of mode; trying again: away",
                "the metadata store has the change of mode now: read-only",
            ],
        )

    def test_flag_first(self) -> None:
        """The bookie refuses adds before it is registered as read-only."""
        self.register()
        self.store.gate = Deferred()
        self.registration.set_read_only("full", True)
        self.assertTrue(self.mode.read_only)
        self.assertEqual(self.store.calls[1:], [("b1", "read-only")])

    def test_reasons(self) -> None:
        """It is writable again when no reason is left."""
        self.register()
        for reason, holds in (("full", True), ("forced", True), ("full", False), ("full", False), ("forced", False)):
            self.registration.set_read_only(reason, holds)
        self.assertEqual([call[1] for call in self.store.calls], ["writable", "read-only", "writable"])  # type: ignore[index]

    def test_changes_while_telling(self) -> None:
        """Changes during one call are followed by one more, to what holds then."""
        self.register()
        gate = self.store.gate = Deferred()
        self.registration.set_read_only("full", True)
        for holds in (False, True, False):
            self.registration.set_read_only("full", holds)
        self.assertEqual(len(self.store.calls), 2)
        self.store.gate = succeed(None)
        gate.callback(None)
        self.assertEqual(self.store.calls[2:], [("b1", "writable")])

    def test_store_fails(self) -> None:
        """A change that the store did not take is told again later; the first registration is not."""
        self.register()
        self.store.failures = [MetadataError("down")] * 13
        with capturedLogs() as events:
            self.registration.set_read_only("full", True)
            self.clock.pump([RETRY_SECONDS] * 13)
        text = "the metadata store did not take the change of mode; trying again: down"
        self.assertEqual([formatEvent(event) for event in events if "error" in event], [text] * 2)  # one a minute
        self.assertEqual(self.store.calls[1:], [("b1", "read-only")] * 14)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_id_is_taken(self) -> None:
        """S6: a bookie whose id another one holds is told so."""
        self.store.failures = [BookieRegisteredError("b1")]
        registering = Deferred.fromCoroutine(self.registration.register(BookieServiceInfo()))
        self.failureResultOf(registering, BookieRegisteredError)

    def test_withdraw(self) -> None:
        """A withdrawal waits for what is being told, ends retries and is the last word."""
        self.register()
        gate = self.store.gate = Deferred()
        self.registration.set_read_only("full", True)
        withdrawing = Deferred.fromCoroutine(self.registration.withdraw())
        self.assertNoResult(withdrawing)
        self.store.gate = succeed(None)
        gate.errback(MetadataError("down"))
        self.successResultOf(withdrawing)
        self.end()
        self.registration.set_read_only("full", False)
        self.assertEqual((self.store.calls[-1], self.clock.getDelayedCalls()), ("gone", []))

    def test_withdraw_with_a_retry_due(self) -> None:
        """A retry does not outlive the bookie."""
        self.register()
        self.store.failures = [MetadataError("down")]
        self.registration.set_read_only("full", True)
        self.successResultOf(Deferred.fromCoroutine(self.registration.withdraw()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_not_withdrawn(self) -> None:
        """A bookie that was not registered has nothing to withdraw."""
        self.end()
        self.assertEqual(self.store.calls, [])

    def test_no_answer_at_first(self) -> None:
        """A stop waits a second for the store, and says that it goes on; the withdrawal goes on, too."""
        withdrawing = self.begin()
        self.clock.advance(FIRST_WAIT - 0.1)
        self.assertNoResult(withdrawing)
        with capturedLogs() as events:
            self.clock.advance(0.2)
        self.successResultOf(withdrawing)
        text = (
            "the metadata store has not withdrawn the registration of the bookie within 1 s: the bookie stops "
            "nevertheless, and clients may try to connect to it"
        )
        self.assertEqual([formatEvent(event) for event in events], [text])
        ending = Deferred.fromCoroutine(self.registration.end_withdrawal())
        self.assertNoResult(ending)
        self.store.gate.callback(None)
        self.successResultOf(ending)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_answer(self) -> None:
        """After five seconds of its beginning the withdrawal is cancelled, and the store does the rest."""
        self.begin()
        self.clock.advance(FIRST_WAIT)
        ending = Deferred.fromCoroutine(self.registration.end_withdrawal())
        self.clock.advance(WITHDRAWAL_SECONDS - FIRST_WAIT - 0.1)
        self.assertNoResult(ending)
        self.clock.advance(0.1)
        text = "the metadata store has not answered within 5 s; it removes the registration by itself when the session"
        self.assertIn(text, str(self.failureResultOf(ending, MetadataUnavailableError).value))
        self.assertTrue(self.store.gate.called)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_time_left(self) -> None:
        """A checkpoint that took longer than that leaves no more time for the withdrawal."""
        self.begin()
        self.clock.advance(WITHDRAWAL_SECONDS + 1)
        ending = Deferred.fromCoroutine(self.registration.end_withdrawal())
        self.clock.advance(0)
        self.failureResultOf(ending, MetadataUnavailableError)

    def test_change_without_an_answer(self) -> None:
        """Nor does a change of mode without an answer outlive the withdrawal that waits for it."""
        self.register()
        gate = self.store.gate = Deferred()
        self.registration.set_read_only("full", True)
        withdrawing = Deferred.fromCoroutine(self.registration.withdraw())
        self.clock.advance(FIRST_WAIT)
        self.successResultOf(withdrawing)
        ending = Deferred.fromCoroutine(self.registration.end_withdrawal())
        self.clock.advance(WITHDRAWAL_SECONDS - FIRST_WAIT)
        self.failureResultOf(ending, MetadataUnavailableError)
        self.assertTrue(gate.called)
        self.assertEqual(self.store.calls, [("b1", "writable"), ("b1", "read-only")])

    def test_withdrawal_fails(self) -> None:
        """The error of a store that fails is that of the end, and of nothing else."""
        withdrawing = self.begin()
        self.store.gate.errback(MetadataError("down"))
        self.successResultOf(withdrawing)
        ending = Deferred.fromCoroutine(self.registration.end_withdrawal())
        self.assertEqual(str(self.failureResultOf(ending, MetadataError).value), "down")

"""Sessions: calls wait for a connection, and are repeated where the answer was lost."""

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.logger import LogEvent, capturedLogs, formatEvent

from bookkeeper_twisted.errors import MetadataError, MetadataOutcomeUnknownError, MetadataUnavailableError
from bookkeeper_twisted.metadata.zookeeper.interfaces import (
    NewNode,
    NodeExistsError,
    NotConnectedError,
    OutcomeUnknownError,
)
from bookkeeper_twisted.testing.zookeeper import MemoryConnection

from .rig import OPTIONS, ZooKeeperCase, ended


class SessionTests(ZooKeeperCase):
    """:class:`Session`."""

    def setUp(self) -> None:
        super().setUp()
        self.session = self.store.session(self.clock)
        self.connection = self.store.connections[-1]
        self.run_(self.session.open())

    def get(self) -> "Deferred[Any]":
        """A call."""
        return self.start(self.session.run("look", lambda: self.connection.get("/ledgers")))

    def test_waits_for_a_connection(self) -> None:
        """While there is none a call is not made; it is as soon as there is."""
        self.connection.suspend()
        n_calls = len(self.connection.calls)
        running = self.get()
        self.clock.advance(OPTIONS.session_timeout - 1)
        self.assertEqual(len(self.connection.calls), n_calls)
        self.assertNoResult(running)
        self.connection.resume()
        self.successResultOf(running)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_no_connection(self) -> None:
        """After a bounded time a call that was never made fails as such."""
        self.connection.suspend()
        before = self.clock.seconds()
        self.failureResultOf(ended(self.clock, self.get()), NotConnectedError)
        longest = (OPTIONS.session_timeout + OPTIONS.retry_max) * (OPTIONS.max_retries + 1)
        self.assertLess(self.clock.seconds() - before, longest)

    def _failed(self, running: "Deferred[Any]", seconds: float) -> MetadataUnavailableError:
        """The error of a call that has so many seconds, and no less."""
        self.clock.pump([0.125] * int(seconds * 8 - 1))
        self.assertNoResult(running)
        self.clock.advance(0.125)
        error: MetadataUnavailableError = self.failureResultOf(running, MetadataUnavailableError).value
        self.assertEqual(self.clock.getDelayedCalls(), [])
        return error

    def test_limit(self) -> None:
        """A call ends in its time: the error says which store is gone, since when, what was asked, and that it was not
        done."""
        self.connection.suspend()
        self.clock.advance(70)
        error = self._failed(self.start(self.session.run("create /x", Deferred)), OPTIONS.operation_timeout)
        self.assertNotIsInstance(error, MetadataOutcomeUnknownError)
        self.assertEqual(
            str(error),
            f"{self.store.uri}: there has been no connection to ZooKeeper for 100 s; asked to create /x, which was "
            "given up after 30 s and was not done",
        )

    def test_no_answer(self) -> None:
        """So does one that a server which is connected does not answer; what was asked may have been done."""
        error = self._failed(self.start(self.session.run("create /x", Deferred)), OPTIONS.operation_timeout)
        self.assertIsInstance(error, MetadataOutcomeUnknownError)
        for text in (self.store.uri, "does not answer", "create /x", "after 30 s and may have been done, or not"):
            self.assertIn(text, str(error))

    def test_log_of_an_outage(self) -> None:
        """An outage is one warning, and one line at its end, however many calls wait."""
        with capturedLogs() as events:
            self.connection.suspend()
            running = [self.get() for _ in range(3)]
            self.clock.advance(12)
            self.connection.resume()
        self.clock.advance(1)
        for each in running:
            self.successResultOf(each)
        self.assertEqual([event["log_level"].name for event in events], ["warn", "info"])
        self.assertIn("suspended: the connection to ZooKeeper was lost", _text(events[0]))
        self.assertIn("connected to ZooKeeper after 12.0 s, in its session", _text(events[1]))

    def test_reason_of_an_outage(self) -> None:
        """What is known of the reason is in the line, in the errors of calls, and gone with the outage."""
        self.connection.trouble = "Connection dropped: refused"
        with capturedLogs() as events:
            self.connection.suspend()
        self.assertTrue(_text(events[0]).endswith("calls wait for another 30 s at most (Connection dropped: refused)"))
        self.clock.advance(47)
        said = "there has been no connection to ZooKeeper for 47 s (Connection dropped: refused)"
        self.assertEqual(self.session.outage(), said)
        other = self.store.session(self.clock)
        self.store.connections[-1].connect = lambda changed: None  # type: ignore[method-assign]
        self.store.connections[-1].trouble = "Connection time-out: no answer"
        text = self.fails(MetadataError, other.open())
        self.assertTrue(text.endswith("no connection to ZooKeeper within 10 s (Connection time-out: no answer)"), text)

    def test_log_of_the_end(self) -> None:
        """The end of the session is one warning that says what it means."""
        self.connection.suspend()
        with capturedLogs() as events:
            self.connection.expire()
        (event,) = events
        self.assertEqual(
            (event["log_level"].name, _text(event)),
            ("warn", f"{self.store.uri}: ZooKeeper has ended the session of this process, which had no connection for "
             "too long: its locks and its candidacy for auditor are gone"),
        )  # fmt: skip

    def test_back_off(self) -> None:
        """Repetitions come after waits that double."""
        for after in range(4):
            self.connection.lose(False, after=after)
        running, calls, at = self.get(), len(self.connection.calls), []
        for _ in range(40):
            self.clock.advance(0.125)
            if len(self.connection.calls) > calls:
                calls = len(self.connection.calls)
                at.append(self.clock.seconds())
        self.assertEqual(at, [0.25, 0.75, 1.75])
        self.failureResultOf(running, OutcomeUnknownError)

    def test_made_once(self) -> None:
        """A call that was made and lost its answer is of unknown outcome, though it could not be made again."""
        self.connection.lose(True)
        running = self.start(self.session.run("look", lambda: self.connection.set("/ledgers", b"x", 0)))
        self.connection.suspend()
        self.failureResultOf(ended(self.clock, running), OutcomeUnknownError)

    def test_first_refusal_is_certain(self) -> None:
        """A refusal of the first try is the outcome, and nothing is resolved."""
        running = self.start(self.session.run("look", lambda: self.connection.create(NewNode("/ledgers")), _never))
        self.failureResultOf(running, NodeExistsError)

    def test_refused_connection(self) -> None:
        """When the server does not accept the client nothing waits, and calls fail at once."""
        self.connection.suspend()
        running = self.get()
        self.connection.refuse()
        self.failureResultOf(ended(self.clock, running), NotConnectedError)
        self.failureResultOf(self.get(), NotConnectedError)

    def test_close(self) -> None:
        """Closing ends what waits for a connection, for a repetition or for an event."""
        self.connection.lose(False)
        running = [self.get()]
        self.connection.suspend()
        running += [self.get(), self.start(self.session.pause(5))]
        self.run_(self.session.close())
        for each in running:
            self.failureResultOf(each, MetadataError)
        self.failureResultOf(self.get(), MetadataError)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.connection.resume()  # news of a closed session are nobody's

    def test_cancel(self) -> None:
        """A cancelled wait leaves no timer."""
        self.connection.suspend()
        running = self.get()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_renewals(self) -> None:
        """Each new session is announced, a connection of the same one is not."""
        renewed: list[int] = []
        self.session.on_renewal(lambda: renewed.append(self.connection.session_id))
        self.connection.suspend()
        self.connection.resume()
        self.assertEqual(renewed, [])
        for _ in range(2):
            self.connection.expire()
            self.connection.resume()
            self.assertEqual(renewed[-1:], [self.connection.session_id])
        self.assertEqual(len(renewed), 2)

    def test_wait_for(self) -> None:
        """A wait ends with its event or its time, whichever is first."""
        event: Deferred[bool] = Deferred()
        waiting = self.start(self.session.wait_for(event, 5))
        event.callback(True)
        self.successResultOf(waiting)
        late: Deferred[bool] = Deferred()
        waiting = self.start(self.session.wait_for(late, 5))
        self.clock.advance(5)
        self.successResultOf(waiting)
        late.callback(True)
        self.successResultOf(self.start(self.session.wait_for(succeed(True), 5)))

    def test_once(self) -> None:
        """A session is opened once."""
        self.failureResultOf(self.start(self.session.open()), MetadataError)
        self.assertIsInstance(self.session.zookeeper, MemoryConnection)


async def _never(error: Exception) -> Any:
    raise AssertionError("resolved what was certain")


def _text(event: LogEvent) -> str:
    return str(formatEvent(event))

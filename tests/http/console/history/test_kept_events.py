"""Which events are the same, and the events that are kept."""

from typing import Any

from twisted.logger import LogLevel
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.console.history.event_file import ConsoleEvent
from bookkeeper_twisted.http.console.history.kept_events import KeptEvents, key_of


class KeyTests(SynchronousTestCase):
    """The keys of log events."""

    def key(self, text: str, kind: str = "disk", level: Any = LogLevel.warn, **fields: Any) -> str:
        """The key of an event."""
        event = {"log_format": text, "log_level": level, "log_namespace": "x", "log_time": id(text), **fields}
        return key_of(event, kind)

    def same(self, one: Any, other: Any, name: str = "error", kind: str = "disk") -> bool:
        """Whether two values of a field make the same event."""
        return self.key("text", kind, **{name: one}) == self.key("text", kind, **{name: other})

    def test_names(self) -> None:
        """Ids, directories, addresses and reasons tell events apart, and so do the format and the level."""
        for name, one, other in (
            ("ledger_id", 7, 8), ("directory", "/data1", "/data2"), ("bookie_id", "10.0.0.1:3181", "10.0.0.2:3181"),
            ("error", OSError(28, "x"), OSError(5, "x")), ("reason", "ledger 7", "ledger 8"), ("on", True, False),
            ("error", "bookie 10.0.0.1 is gone", "bookie 10.0.0.2 is gone"), ("path", "/a/1a.log", "/a/2b.log"),
        ):  # fmt: skip
            self.assertFalse(self.same(one, other, name), (one, other))
        self.assertNotEqual(self.key("one"), self.key("other"))
        self.assertNotEqual(self.key("one"), self.key("one", level=LogLevel.error))

    def test_measures(self) -> None:
        """Counters, durations, sizes and times do not, neither as numbers nor within a text."""
        for one, other in (
            (7, 8), (0.5, 1.5), ("waited 10.03 s", "waited 9.7 s"), ("waited 5 s, again", "waited 10 s, again"),
            ("since 2026-11-27T21:47:36Z", "since 2026-11-27T22:01:02Z"), ("1,234,567 left", "12,345 left"),
            ("17 bytes free", "4,096 bytes free"), ("3 entries of it", "11 entries of it"),
        ):  # fmt: skip
            self.assertTrue(self.same(one, other), (one, other))

    def test_changes(self) -> None:
        """Each change that somebody makes has a key of its own."""
        self.assertFalse(self.same(1.0, 2.0, "now", "change"))
        self.assertFalse(self.same("1,000 bytes", "2,000 bytes", "now", "change"))

    def test_secrets(self) -> None:
        """A key says nothing about secrets, so that nobody can try passwords with it."""
        self.assertTrue(self.same("zk://user:one@host/l", "zk://user:other@host/l"))
        self.assertTrue(self.same("one", "other", "password"))

    def test_stable(self) -> None:
        """Another process finds the same key."""
        self.assertEqual(self.key("text", ledger_id=7), "5d5b728ffebb19c6")


class KeptEventsTests(SynchronousTestCase):
    """A list of events of which some repeat."""

    def setUp(self) -> None:
        self.kept = KeptEvents(4)

    def add(self, *keys: str, at: float = 1.0) -> None:
        """Events with some keys happen."""
        for key in keys:
            self.kept.append(ConsoleEvent(at, "warn", "disk", f"{key} at {at:g}", key))

    def shown(self, number: int = -99) -> str:
        """The kept events behind a number, in order."""
        return " ".join(f"{event.key}{event.times}" for event in self.kept.after(number))

    def test_moves(self) -> None:
        """The first one of an event stays, the count of all moves to the newest events."""
        self.add("a", "b", "a", "c", "a")
        self.assertEqual((self.shown(), self.kept.count), ("a1 b1 c1 a3", 5))
        self.assertEqual((self.shown(2), self.shown(4), self.shown(5)), ("c1 a3", "a3", ""))
        self.assertEqual([event.key for event in self.kept.newest_first()], ["a", "c", "b", "a"])

    def test_size(self) -> None:
        """The oldest event is dropped; what was dropped is new when it happens again."""
        self.add("a", "b", "c", "d", "e", "b", "a")
        self.assertEqual(self.shown(), "d1 e1 b2 a1")

    def test_hour(self) -> None:
        """After an hour, or if the clock is set back, it is another event."""
        self.add("a", at=5000.0)
        self.add("a", at=8599.0)
        self.add("a", at=12_199.0)
        self.add("a", at=12_198.0)
        self.assertEqual(self.shown(), "a1 a2 a1 a1")

    def test_past(self) -> None:
        """Events of earlier processes are before the others, as many as there is room for, and are counted further."""
        self.add("x", "a")
        found = (("d", 1), ("a", 7), ("b", 7))
        past = [ConsoleEvent(0.5, "warn", "disk", key, key, times, 0.25) for key, times in found]
        self.kept.prepend(past)
        self.assertEqual((self.shown(), self.shown(0)), ("a7 b7 x1 a1", "x1 a1"))
        self.add("b")
        self.add("a")
        self.assertEqual(self.shown(0), "x1 a1 b8 a2")
        self.kept.prepend(past)
        self.assertEqual(self.shown(), "x1 a1 b8 a2")

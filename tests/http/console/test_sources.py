"""Parts of the console that consist of records."""

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.http.console.history.event_file import ConsoleEvent
from bookkeeper_twisted.http.console.history.kept_events import KeptEvents
from bookkeeper_twisted.http.console.sources import KnownState, RecordSource, dumped, exact
from bookkeeper_twisted.instruments import Ring


class RecordTests(SynchronousTestCase):
    """New records of some rings."""

    def test_after(self) -> None:
        """Each ring gives the records after its number, and the number of its newest; unknown rings give all."""
        rings: list[Ring[int]] = [Ring(9), Ring(9)]
        source = RecordSource("r", lambda: rings, str)
        self.assertEqual(source.after([]), [{"last": 0, "records": []}, {"last": 0, "records": []}])
        rings[0].append(1)
        counts = source.counts()
        rings[0].append(2)
        rings[1].append(3)
        self.assertEqual(source.after(counts), [{"last": 2, "records": ["2"]}, {"last": 1, "records": ["3"]}])
        self.assertEqual(source.after([]), [{"last": 2, "records": ["1", "2"]}, {"last": 1, "records": ["3"]}])


    def test_before(self) -> None:
        """A list whose records move to its end gives those that have stayed since a number."""
        kept = KeptEvents(9)
        source = RecordSource("r", lambda: [kept], lambda event: event.key)
        for key in "abab":
            kept.append(ConsoleEvent(1.0, "info", "disk", key, key))
        counts = source.counts()
        for key in "abba":
            kept.append(ConsoleEvent(1.0, "info", "disk", key, key))
        self.assertEqual(source.before(counts), [{"last": 4, "records": ["a", "b"]}])
        self.assertEqual(source.after(counts), [{"last": 8, "records": ["b", "a"]}])


class ExactTests(SynchronousTestCase):
    """Whole numbers that a browser would round."""

    def test_strings(self) -> None:
        """They become strings wherever they stand; all else stays as it is."""
        value = {"rows": [((1 << 53), -1, "x")], "most": (1 << 53) - 1, "low": -(1 << 53), "parts": [0.5, True, None]}
        expected = {"rows": [[str(1 << 53), -1, "x"]], "most": (1 << 53) - 1, "low": str(-(1 << 53)),
                    "parts": [0.5, True, None]}  # fmt: skip
        self.assertEqual(exact(value), expected)
        self.assertEqual(json.loads(dumped(value)), expected)
        self.assertEqual(dumped([7, "1" * 16]), f'[7,"{"1" * 16}"]')


class RowTests(SynchronousTestCase):
    """States with many rows, of which few change at a time."""

    def setUp(self) -> None:
        self.known = KnownState("rows")

    def sent(self, value: object) -> Any:
        """What viewers get after a value was read; None if they get nothing."""
        self.known.take(value)
        text = self.known.change()
        return json.loads(text) if text else None

    def test_rows(self) -> None:
        """The first time all rows are sent, later those that are new or other, and the names of those that are gone."""
        self.assertEqual((self.known.change(), self.known.whole()), ("", ""))
        first = {"rows": {"a": 1, "b": [2], "same": 5}, "more": 1}
        self.assertEqual(self.sent(first), first)
        self.assertIsNone(self.sent(first))
        self.assertEqual(
            self.sent({"rows": {"b": [3], "c": 4, "same": 5}, "more": 1}),
            {"rowsOf": "rows", "changed": {"b": [3], "c": 4}, "gone": ["a"], "rest": {"more": 1, "rows": {}}},
        )
        self.assertEqual(json.loads(self.known.whole()), {"rows": {"b": [3], "c": 4, "same": 5}, "more": 1})

    def test_unsent(self) -> None:
        """What was read and not sent yet is no part of what viewers know; of two readings, the last one is sent."""
        self.sent({"rows": {"a": 1}})
        self.known.take({"rows": {"a": 2}})
        self.known.take({"rows": {"a": 3}})
        self.assertEqual(json.loads(self.known.whole()), {"rows": {"a": 1}})
        self.assertEqual(json.loads(self.known.change())["changed"], {"a": 3})

    def test_without_rows(self) -> None:
        """A value without rows, such as an error, is sent whole, and so is the value after it."""
        self.sent({"rows": {"a": 1}})
        self.assertEqual(self.sent({"error": "no store"}), {"error": "no store"})
        self.assertEqual(self.sent({"rows": {"a": 1}}), {"rows": {"a": 1}})
        self.assertEqual(self.sent({"rows": {}}), {"rows": {}})
        plain = KnownState("")
        plain.take({"rows": {"a": 1}})
        self.assertEqual(plain.change(), '{"rows":{"a":1}}')

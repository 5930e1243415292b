"""Offsets of streams."""

import json

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.spark.source.offsets import Admission, StreamOffset


class AdmissionTests(SynchronousTestCase):
    """What goes into one micro-batch."""

    def test_large_entries(self) -> None:
        """One entry above the limit goes in, the first of all; those of the other ledgers wait."""
        admission = Admission(None, 10)
        self.assertEqual([admission.admitted(5, 100), admission.admitted(5, 100), admission.admitted(5, 1)], [1, 0, 0])


class OffsetTests(SynchronousTestCase):
    """One query."""

    def test_advance(self) -> None:
        """Ledgers move on, and leave the table when they are done."""
        offset = StreamOffset().advanced({3: 10, 4: 5}, {7})
        self.assertEqual([offset.position(n) for n in (3, 4, 7, 8)], [10, 5, None, 0])
        offset = offset.advanced({4: 6}, {3})
        self.assertEqual([offset.position(n) for n in (3, 4)], [None, 6])

    def test_round_trip(self) -> None:
        """What Spark stores as JSON comes back as it was."""
        offset = StreamOffset({30_000: 7}).advanced({}, {25_001, 25_002, 25_009}, {25_003})
        stored = json.loads(json.dumps(offset.to_json()))
        self.assertEqual(StreamOffset.from_json(stored), offset)
        self.assertEqual((stored["done"], stored["finished"]), ("25001-25003,25009", "25001-25002,25009"))

    def test_low_ids(self) -> None:
        """An id that was never seen is that of a new ledger, however far below the highest it is."""
        offset = StreamOffset().advanced({}, set(range(5, 100_000)))
        self.assertEqual([offset.position(n) for n in (4, 5, 99_999, 100_000)], [0, None, None, 0])
        self.assertEqual(offset.to_json()["done"], "5-99999")

    def test_finished_in_this_step(self) -> None:
        """An offset names the ledgers that were read to their end in its step, not in earlier ones, and no others."""
        before = StreamOffset().advanced({3: 1}, {1}, {2})
        after = before.advanced({}, {3}, {9})
        self.assertEqual((list(after.finished), list(after.done)), ([3], [1, 2, 3, 9]))

    def test_nothing_new(self) -> None:
        """Without progress the offset stays the same, so that Spark makes no micro-batch."""
        offset = StreamOffset().advanced({3: 1}, {1})
        self.assertIs(offset.advanced({3: 1}, set()), offset)

    def test_another_version(self) -> None:
        """The checkpoint of another version is refused."""
        self.assertRaises(ConfigError, StreamOffset.from_json, {"version": 1})

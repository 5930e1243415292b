"""Choosing ledgers and entries, over a metadata store in memory."""

from collections.abc import Iterable
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError, NoSuchLedgerMetadataError
from bookkeeper_twisted.model import MAX_LEDGER_ID, LedgerMetadata, LedgerState, Segment
from bookkeeper_twisted.spark.id_ranges import IdRanges
from bookkeeper_twisted.spark.options import SourceOptions
from bookkeeper_twisted.spark.publication_ids import FIRST_PUBLICATION
from bookkeeper_twisted.spark.source.selection import ASKED_EACH, Selection, offset_of

METADATA = LedgerMetadata(1, 1, 1, (Segment(0, ("b",)),), LedgerState.CLOSED)


class CountedCluster:
    """A cluster of closed ledgers.

    :ivar asked: ids whose metadata were asked for.
    :ivar listed: ranges of ids that were listed.
    """

    def __init__(self, ledger_ids: Iterable[int]) -> None:
        self._ids = sorted(ledger_ids)
        self.asked: list[int] = []
        self.listed: list[tuple[int, int]] = []

    def ledger_ids(self, first: int = 0, last: int = MAX_LEDGER_ID) -> list[int]:
        """The ids of a range."""
        self.listed.append((first, last))
        return [n for n in self._ids if first <= n <= last]

    def metadata(self, ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
        """The same metadata for every ledger."""
        wanted = list(ledger_ids)
        self.asked += wanted
        return {n: METADATA for n in wanted if n in self._ids}


class RangeTests(SynchronousTestCase):
    """Ledgers that an option names by ranges."""

    def chosen(self, cluster: CountedCluster, among: IdRanges | None = None, **options: str) -> list[int]:
        """The ids whose metadata are read."""
        given = {"metadataserviceuri": "memory:", "view": "ledgers", **options}
        selection = Selection(cast(Any, cluster), SourceOptions.parse(given))
        ids = selection.ledger_ids() if among is None else selection.ledger_ids(among)
        return list(selection.metadata(ids))

    def test_large_range(self) -> None:
        """Of a large range the store lists what exists; no other id costs anything, however many there are."""
        present = [5, 7, 999_999_999, FIRST_PUBLICATION + 1]
        cluster = CountedCluster(present)
        for ledgers, wanted in (("0-999999999", present[:3]), ("0-9223372036854775807", present)):
            found = self.chosen(cluster, ledgers=f"{ledgers},7", failondataloss="false")
            self.assertEqual((found, cluster.asked), (wanted, wanted))
            cluster.asked.clear()

    def test_part_of_the_ledgers(self) -> None:
        """A range lists its own ids alone, and a short one is asked for without a list."""
        cluster = CountedCluster(range(10_000))
        last = 2000 + ASKED_EACH
        self.assertEqual(self.chosen(cluster, ledgers=f"3,2000-{last}"), [3, *range(2000, last + 1)])
        self.assertEqual(cluster.listed, [(2000, last)])
        self.assertEqual(self.chosen(cluster, ledgers=f"2000-{last - 1}"), [*range(2000, last)])
        self.assertEqual(cluster.listed, [(2000, last)])

    def test_missing_in_a_large_range(self) -> None:
        """The first ledger of a large range that does not exist is an error, before any is asked for."""
        for present, missing in ((range(1, 5000), 0), ([*range(9), *range(10, 5000)], 9), (range(4999), 4999), ((), 0)):
            cluster = CountedCluster(present)
            error = self.assertRaises(NoSuchLedgerMetadataError, self.chosen, cluster, ledgers="0-4999")
            self.assertIn(f"ledger {missing} does not exist", str(error))
            self.assertEqual(cluster.asked, [])

    def test_chosen_among(self) -> None:
        """Ledgers that do not matter, as those of which nothing is left to read, need not exist."""
        cluster = CountedCluster([3, *range(5, 5000)])
        self.assertEqual(self.chosen(cluster, IdRanges(((3, 3), (5, 4999))), ledgers="0-4999"), [3, *range(5, 5000)])
        self.assertEqual(self.chosen(cluster, IdRanges.of([3]), ledgers="0-999999999"), [3])
        self.assertEqual(self.chosen(cluster, IdRanges.of([3, 4, 9]), ledgerspattern="a=b"), [])
        self.assertEqual(cluster.asked[-2:], [3, 9])


class OffsetTests(SynchronousTestCase):
    """The entries at which a read begins and ends."""

    def test_beyond_the_end(self) -> None:
        """An offset beyond the end of a ledger is an error with its option, or the end with a warning."""
        error = self.assertRaises(ConfigError, offset_of, "endingOffsets", {7: 101}, 7, 100, True)
        self.assertIn("option endingOffsets is 101 for ledger 7, which can be read up to offset 100", str(error))
        self.assertEqual(offset_of("endingOffsets", {7: 101}, 7, 100, False), 100)
        (warning,) = self.flushWarnings()
        self.assertIn("option endingOffsets is 101 for ledger 7", warning["message"])

    def test_up_to_the_end(self) -> None:
        """The end itself is an offset, as are the two words and every entry; a ledger has to be among the offsets."""
        for offsets, wanted in (({7: 100}, 100), ({7: 0}, 0), ("earliest", 0), ("latest", 100)):
            self.assertEqual(offset_of("startingOffsets", cast(Any, offsets), 7, 100, True), wanted)
        self.assertRaises(ConfigError, offset_of, "startingOffsets", {8: 1}, 7, 100, False)

"""The driver's view of a cluster: which ledgers it lists, and what that costs."""

from collections.abc import Iterable

from bookkeeper_twisted.model import MAX_LEDGER_ID, LedgerMetadata
from bookkeeper_twisted.spark.publication_ids import FIRST_PUBLICATION, id_of
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink import manifest
from bookkeeper_twisted.spark.sink.manifest import BatchKey, Publication

from ..cluster_case import ClusterCase


class ListingTests(ClusterCase):
    """Ledgers of users and records of the sink."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster, self.asked = self.connect(), list[int]()
        read = self.cluster.metadata

        def metadata(ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
            self.asked.extend(found := list(ledger_ids))
            return read(found)

        self.patch(self.cluster, "metadata", metadata)

    def create(self, ledger_id: int, **custom: bytes) -> int:
        """A closed ledger of a user; its id."""
        named = {f"spark.{name}": value for name, value in custom.items()}
        self.client.create_ledger_adv(ledger_id, 3, 3, 2, custom_metadata=named).close()
        return ledger_id

    def publish(self, batch_id: int) -> int:
        """The id of a publication's record."""
        key = BatchKey("events", "query", batch_id)
        THREAD.wait(lambda: manifest.publish(self.cluster.ledgers, Publication(key, 1, 1, 1, 0), "bookie-0"))
        return id_of("events", "query", str(batch_id))

    def test_records(self) -> None:
        """A ledger is a record by its metadata and its id together; everything else is a ledger of a user."""
        record = self.publish(0)
        users = [self.create(n) for n in (3, FIRST_PUBLICATION - 1, FIRST_PUBLICATION, record + 1, MAX_LEDGER_ID)]
        marks = {"role": b"publication", "manifest": b"events", "query": b"query", "batch": b"7"}
        users += [self.create(FIRST_PUBLICATION + 9, **marks), self.create(5, **marks)]
        users.append(self.create(record + 2, **{**marks, "manifest": b"\xff"}))
        users.append(self.create(record + 3, **{**marks, "role": b"data"}))
        THREAD.wait(lambda: manifest.begin(self.cluster.ledgers, BatchKey("events", "query", 0), "bookie-0"))
        self.assertEqual(self.cluster.ledger_ids(), sorted(users))
        self.assertEqual(self.cluster.ledger_ids(4, FIRST_PUBLICATION), [5, FIRST_PUBLICATION - 1, FIRST_PUBLICATION])

    def test_cost(self) -> None:
        """Metadata are read of ledgers alone whose ids may be those of records, and of each once."""
        for ledger_id in (3, FIRST_PUBLICATION - 1):
            self.create(ledger_id)
        self.cluster.ledger_ids()
        self.assertEqual(self.asked, [])
        high = [self.publish(0), self.create(MAX_LEDGER_ID)]
        self.cluster.ledger_ids()
        self.cluster.ledger_ids(0, FIRST_PUBLICATION)
        self.assertEqual(self.cluster.ledger_ids(), [3, FIRST_PUBLICATION - 1, MAX_LEDGER_ID])
        self.assertEqual(self.asked, high)
        self.client.delete_ledger(MAX_LEDGER_ID)
        self.assertEqual(self.cluster.ledger_ids(), [3, FIRST_PUBLICATION - 1])
        self.create(MAX_LEDGER_ID)
        self.assertEqual(self.cluster.ledger_ids()[-1], MAX_LEDGER_ID)
        self.assertEqual(self.asked, [*high, MAX_LEDGER_ID])

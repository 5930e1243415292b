"""Writing ledgers of an archive, without Spark."""

import json
from base64 import b64encode

import attrs
import pyarrow

from bookkeeper_twisted.errors import LedgerExistsError
from bookkeeper_twisted.model import LedgerMetadata
from bookkeeper_twisted.spark.options import SinkOptions, SourceOptions
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.ledger_writing import client_of
from bookkeeper_twisted.spark.sink.restoring import (
    RESTORED_BY,
    ArchiveClient,
    Facts,
    Restorer,
    remove_marks,
    restore_partition,
)
from bookkeeper_twisted.spark.source.batch import plan_batch
from bookkeeper_twisted.spark.source.filters import IdFilter
from bookkeeper_twisted.spark.task.partition import read_partition, settings_of

from ..cluster_case import ClusterCase
from ..encrypted_case import EncryptedCase
from ..secured_case import options_of

FACTS = Facts(3, 3, 2, "CRC32C", 1, 4, {"application": b64encode(b"a\xff").decode()}, 1_500_000_000_123)
PAYLOADS = (b"one", b"2")


class RestoringTests(ClusterCase):
    """An archive with ledger 7."""

    def setUp(self) -> None:
        super().setUp()
        self.named = SinkOptions.parse({"metadataserviceuri": self.uri, "restore": "true", "writeid": "name"})
        self.unnamed = attrs.evolve(self.named, writing=attrs.evolve(self.named.writing, write_id=""))
        self.client_of_tasks = client_of(self.named, ArchiveClient.connect)
        self.addCleanup(THREAD.wait, self.client_of_tasks.close)

    def restore(self, options: SinkOptions, facts: Facts = FACTS) -> list[int]:
        """What one attempt of a task writes."""
        rows = [(-1, json.dumps(attrs.asdict(facts)).encode()), *enumerate(PAYLOADS)]
        entry_ids, payloads = zip(*rows, strict=True)
        columns = {"ledger_id": [7] * len(rows), "entry_id": entry_ids, "payload": payloads}
        return restore_partition(options, "name", [pyarrow.RecordBatch.from_pydict(columns)])

    def test_as_it_was(self) -> None:
        """A restored ledger has the creation time and the custom metadata of the archive, and nothing of the import."""
        self.assertEqual(self.restore(self.unnamed), [7])
        self.assertEqual(self.client.ledger_metadata(7).custom_metadata[RESTORED_BY], b"name")
        remove_marks(self.unnamed, "another", [7])
        self.assertIn(RESTORED_BY, self.client.ledger_metadata(7).custom_metadata)
        remove_marks(self.unnamed, "name", [7, 8])
        metadata = self.client.ledger_metadata(7)
        self.assertEqual((metadata.ctime, metadata.custom_metadata), (FACTS.ctime, {"application": b"a\xff"}))
        with self.client.open_ledger(7) as reader:
            self.assertEqual([entry.data for entry in reader], list(PAYLOADS))

    def test_attempts(self) -> None:
        """An attempt begins an unfinished ledger of the one before it anew, and leaves a finished one alone."""
        async def fail_in_the_middle() -> None:
            attempt = Restorer(self.client_of_tasks, b"", "name", False)
            await attempt.take([(7, -1, json.dumps(attrs.asdict(FACTS)).encode()), (7, 0, b"wrong")])

        THREAD.wait(fail_in_the_middle)
        for _ in range(2):
            self.assertEqual(self.restore(self.unnamed), [7])
        with self.client.open_ledger(7) as reader:
            self.assertEqual([entry.data for entry in reader], list(PAYLOADS))

    def attempt(self, *ledger_ids: int) -> list[int]:
        """Restore ledgers with the contents of the archive, one after the other, in one attempt."""
        contents = [json.dumps(attrs.asdict(FACTS)).encode(), *PAYLOADS]
        rows = [(one, n, payload) for one in ledger_ids for n, payload in enumerate(contents, -1)]
        restorer = Restorer(self.client_of_tasks, b"", "name", False)
        THREAD.wait(lambda: restorer.take(rows))
        THREAD.wait(restorer.finish)
        return restorer.written

    def test_ledger_after_one_that_is_there(self) -> None:
        """A ledger that an attempt before has written is left as it is, and the next ones are written."""
        self.attempt(50)
        before = self.client.ledger_metadata(50)
        self.assertEqual(self.attempt(50, 51), [50, 51])
        self.assertEqual(self.client.ledger_metadata(50), before)
        with self.client.open_ledger(51) as reader:
            self.assertEqual([entry.data for entry in reader], list(PAYLOADS))

    def test_leftover_that_was_closed(self) -> None:
        """A ledger of this import that is closed before its end is written anew."""
        with self.client.create_ledger_adv(50, 3, 3, 2, custom_metadata={RESTORED_BY: b"name"}) as writer:
            writer.write(0, PAYLOADS[0])
        self.assertEqual(self.attempt(50), [50])
        with self.client.open_ledger(50) as reader:
            self.assertEqual([entry.data for entry in reader], list(PAYLOADS))

    def test_repeated(self) -> None:
        """An import with a name passes over what it has written; without one, or where the metadata are not those of
        the archive, a ledger that is there is an error."""
        self.restore(self.named)
        remove_marks(self.named, "name", [7])
        self.assertEqual(self.restore(self.named), [7])
        self.assertRaises(LedgerExistsError, self.restore, self.unnamed)
        for other in (attrs.evolve(FACTS, ctime=1), attrs.evolve(FACTS, length=5), attrs.evolve(FACTS, ack_quorum=3),
                      attrs.evolve(FACTS, custom_metadata={}), attrs.evolve(FACTS, last_entry_id=2)):  # fmt: skip
            self.assertRaises(LedgerExistsError, self.restore, self.named, other)

    def test_mark_of_an_archive(self) -> None:
        """The mark of an import that an archive has is not taken over, nor a creation time made up."""
        custom = {RESTORED_BY: b64encode(b"earlier").decode()}
        self.restore(self.unnamed, attrs.evolve(FACTS, custom_metadata=custom, ctime=None))
        remove_marks(self.unnamed, "name", [7])
        metadata = self.client.ledger_metadata(7)
        self.assertEqual((metadata.ctime, metadata.custom_metadata), (None, {}))


class EncryptedLedgerTests(EncryptedCase):
    """Archived ledgers whose entries are encrypted."""

    def test_restored(self) -> None:
        """An encrypted ledger is written as it was, by a client without the key as by one that encrypts; another ledger
        of the archive stays unencrypted.  Readers with the key can read it."""
        encrypted, plain = self.encrypted([b"one", b"2"]), self.ledger([b"one", b"2"])
        before = {n: self.client.ledger_metadata(n) for n in (encrypted, plain)}
        contents = {encrypted: self.stored(encrypted), plain: [b"one", b"2"]}
        for keys in ({}, {**self.keys, "ledger_encryption": True}):
            given = {"metadataserviceuri": self.uri, "restore": "true", "writeid": "name", **options_of(keys)}
            options = SinkOptions.parse(given)
            self.addCleanup(THREAD.wait, client_of(options, ArchiveClient.connect).close)
            for ledger_id, metadata in before.items():
                self.client.delete_ledger(ledger_id)
                rows = [(-1, self.facts(metadata)), *enumerate(contents[ledger_id])]
                entry_ids, payloads = zip(*rows, strict=True)
                columns = {"ledger_id": [ledger_id] * len(rows), "entry_id": entry_ids, "payload": payloads}
                batch = pyarrow.RecordBatch.from_pydict(columns)
                self.assertEqual(restore_partition(options, "name", [batch]), [ledger_id])
                after = self.client.ledger_metadata(ledger_id)
                custom = {**metadata.custom_metadata, RESTORED_BY: b"name"}
                self.assertEqual((after.custom_metadata, after.length), (custom, metadata.length))
                with self.sealed.open_ledger(ledger_id) as reader:
                    self.assertEqual([entry.data for entry in reader], [b"one", b"2"])

    def facts(self, metadata: LedgerMetadata) -> bytes:
        """The first row of a ledger in an archive."""
        custom = {name: b64encode(value).decode() for name, value in metadata.custom_metadata.items()}
        facts = Facts(3, 3, 2, "CRC32C", metadata.last_entry_id, metadata.length, custom, metadata.ctime)
        return json.dumps(attrs.asdict(facts)).encode()

    def stored(self, ledger_id: int) -> list[bytes]:
        """The payloads of a ledger as bookies have them."""
        given = {"metadataserviceuri": self.uri, "ledger": str(ledger_id), "decrypt": "false"}
        options = SourceOptions.parse(given)
        (partition,) = plan_batch(options, IdFilter())
        return [raw for b in read_partition(partition, settings_of(options)) for raw in b["payload"].to_pylist()]

"""Encrypted ledgers in the source and the sink, without Spark."""

import pickle
from base64 import b64encode
from typing import Any

import pyarrow

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.client.encryption import KEY, is_encrypted
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookKeeperError, ConfigError, ReadError, UnauthorizedAccessError
from bookkeeper_twisted.security.ledger_keys import WrappedKey, key_provider
from bookkeeper_twisted.spark.options import SinkOptions, SourceOptions
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.ledger_writing import WriteAttempt, client_of, write_partition
from bookkeeper_twisted.spark.sink.manifest import BatchKey, published_rows
from bookkeeper_twisted.spark.sink.publishing import Publisher
from bookkeeper_twisted.spark.source.batch import plan_batch, view_rows
from bookkeeper_twisted.spark.source.filters import IdFilter
from bookkeeper_twisted.spark.source.offsets import Admission, StreamOffset
from bookkeeper_twisted.spark.source.stream import StreamPlanner
from bookkeeper_twisted.spark.task.partition import Partition, read_partition, settings_of

from ..encrypted_case import OVERHEAD, PAYLOADS, EncryptedCase, key_line
from ..secured_case import options_of


class SourceTests(EncryptedCase):
    """What is read."""

    def options(self, *ledgers: int, keys: dict[str, Any] | None = None, **more: str) -> SourceOptions:
        """Options of the source, with the keys or with other ones."""
        given = options_of(self.keys if keys is None else keys)
        wanted = {"ledgers": ",".join(map(str, ledgers))} if ledgers else {"ledgersPattern": "application=events"}
        return SourceOptions.parse({"metadataServiceUri": self.uri, **wanted, **given, **more})

    def rows(self, options: SourceOptions, planned: list[Partition] | None = None) -> list[tuple[int, bytes, int]]:
        """Entry id, payload and length of what tasks read."""
        planned = pickle.loads(pickle.dumps(plan_batch(options, IdFilter()) if planned is None else planned))
        batches = [batch for part in planned for batch in read_partition(part, settings_of(options))]
        columns = ("entry_id", "payload", "length")
        found = [row for b in batches for row in zip(*(b[name].to_pylist() for name in columns), strict=True)]
        return sorted(found)

    def refused(
        self, wanted: str, options: SourceOptions, kind: type[BookKeeperError] = UnauthorizedAccessError
    ) -> None:
        """No read is planned, and the error says what is wanted."""
        error = self.assertRaises(kind, plan_batch, options, IdFilter())
        self.assertRegex(str(error), wanted)
        self.assertNotIn("k1k1", str(error))

    def test_batch(self) -> None:
        """Encrypted and other ledgers are read in one query, and those of a striped ensemble, in both protocols."""
        ledgers = self.encrypted(), self.encrypted(quorum=2), self.ledger(PAYLOADS)
        for wire in ("v2", "v3"):
            rows = self.rows(self.options(*ledgers, keys={**self.keys, "wire_protocol": wire}))
            self.assertEqual([payload for _, payload, _ in rows], [payload for payload in PAYLOADS for _ in range(3)])
        whole = sum(map(len, PAYLOADS)) + len(PAYLOADS) * OVERHEAD
        self.assertEqual(self.rows(self.options(ledgers[0]))[-1][2], whole)

    def test_stored(self) -> None:
        """With ``decrypt = false`` payloads are read as bookies have them, with the key and without."""
        ledger = self.encrypted()
        for keys in (self.keys, {}):
            rows = self.rows(self.options(ledger, keys=keys, decrypt="false"))
            self.assertEqual([len(row[1]) for row in rows], [len(payload) + OVERHEAD for payload in PAYLOADS])
            self.assertNotEqual(rows[7][1][4:-16], PAYLOADS[7])

    def test_stream(self) -> None:
        """A stream reads ledgers that are written, and a new key that was added to the file while it ran."""
        options = self.options(startingOffsets="earliest")
        planner = StreamPlanner(options)
        self.addCleanup(planner.close)
        with self.sealed.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as growing:
            growing.append_many(PAYLOADS)
            growing.append(b"tells the bookies that the others are confirmed")
            start, end = StreamOffset(), planner.latest_offset(StreamOffset(), Admission(None, None))
            self.assertEqual([row[1] for row in self.rows(options, planner.partitions(start, end))], PAYLOADS)
        self.key_file.write_text(key_line("k1") + key_line("k2"))
        config = ClientConfig(ledger_encryption=True, **self.keys)
        with (
            BookKeeper.connect(self.uri, config, thread=THREAD) as client,
            client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as writer,
        ):
            writer.append(b"with the new key")
        start, end = end, planner.latest_offset(end, Admission(None, None))
        self.assertIn((0, b"with the new key", 36), self.rows(options, planner.partitions(start, end)))
        self.key_file.write_text(key_line("k3"))
        error = self.assertRaises(UnauthorizedAccessError, planner.partitions, StreamOffset(), end)
        self.assertIn("has no key 'k1'", str(error))

    def test_refused(self) -> None:
        """A missing key and a wrong one are refused before any task begins, by the ledger and the option."""
        ledger = self.encrypted()
        self.refused(
            rf"unauthorized access: ledger {ledger}: its entries are encrypted, and option "
            r"bookkeeper.ledgerKeyProvider is not set; with decrypt = false", self.options(ledger, keys={}),
        )  # fmt: skip
        self.key_file.write_text(key_line("k2"))
        wanted = rf"ledger {ledger}: .*has no key 'k1', option bookkeeper.ledgerKeyProvider"
        self.refused(wanted, self.options(ledger))
        self.key_file.write_text(key_line("k2").replace("k2 ", "k1 "))
        wanted = rf"ledger {ledger}: .*is not the one that wraps the ledger's key, option bookkeeper.ledgerKeyProvider"
        self.refused(wanted, self.options(ledger))
        for options in (self.options(self.ledger(PAYLOADS)), self.options(ledger)):
            self.key_file.unlink(missing_ok=True)
            self.refused("ledgerKeyFile", options, ConfigError)

    def test_no_entries(self) -> None:
        """What reads no payload needs no key: ids alone, and views."""
        ledger = self.encrypted()
        (partition,) = plan_batch(self.options(ledger, keys={}, includePayload="false"), IdFilter())
        settings = settings_of(self.options(ledger, keys={}, includePayload="false"))
        self.assertEqual(sum(batch.num_rows for batch in read_partition(partition, settings)), len(PAYLOADS))
        for view in ("ledgers", "fragments"):
            self.assertTrue(view_rows(self.options(ledger, keys={}, view=view)))

    def test_worker_without_the_key(self) -> None:
        """A task whose machine has another key file fails, and says which."""
        options = self.options(self.encrypted())
        planned = plan_batch(options, IdFilter())
        self.key_file.write_text(key_line("k2"))
        error = self.assertRaises(UnauthorizedAccessError, self.rows, options, planned)
        self.assertIn(f"{self.key_file} has no key 'k1'", str(error))

    def test_another_ledger(self) -> None:
        """Entries that were encrypted with another key are damaged, although their digests are right."""
        one, two = self.encrypted(), self.encrypted()
        options = self.options(one)
        (partition,) = plan_batch(options, IdFilter())
        partition.ledgers[one] = self.client.ledger_metadata(two)
        error = self.assertRaises(ReadError, self.rows, options, [partition])
        self.assertIn("cannot be decrypted", str(error))

    def test_nothing_secret_travels(self) -> None:
        """No key, wrapping or of a ledger, is in what is sent to tasks or in what it shows of itself."""
        ledger = self.encrypted()
        options, custom = self.options(ledger), self.client.ledger_metadata(ledger).custom_metadata
        provider = key_provider(ClientConfig(**self.keys))
        assert provider is not None
        key = THREAD.wait(lambda: provider.unwrap(WrappedKey("k1", custom[KEY])))
        sent = [settings_of(options), plan_batch(options, IdFilter())]
        texts = [repr(options), *map(repr, sent), *(pickle.dumps(each).decode("latin-1") for each in (*sent, options))]
        self.assertIn(str(self.key_file), "".join(texts))
        for secret in ("k1" * 16, key_line("k1").split()[1], key.decode("latin-1"), b64encode(key).decode(), key.hex()):
            self.assertNotIn(secret, "".join(texts))

    def test_lighter_without(self) -> None:
        """Options that name no key provider give tasks no settings of one, so tasks load no code for it."""
        self.assertEqual(settings_of(self.options(1, keys={})).keys, ())
        self.assertEqual(settings_of(self.options(1, decrypt="false")).keys, ())


class SinkTests(EncryptedCase):
    """What tasks of the sink write."""

    def test_written(self) -> None:
        """Ledgers of the sink and those of its manifests are encrypted, and a batch is published once."""
        given = {"metadataServiceUri": self.uri, **options_of({**self.keys, "ledger_encryption": True})}
        options = SinkOptions.parse(given)
        client = client_of(options)
        self.addCleanup(lambda: THREAD.wait(client.close))
        key = BatchKey("m", "q", 0)
        batch = pyarrow.RecordBatch.from_pydict({"payload": [b"one", b"two"]})
        rows = write_partition(options, WriteAttempt(key, 0, 0), [batch])
        publisher = Publisher(THREAD.reactor, client, options)
        for _ in range(2):
            THREAD.wait(lambda: publisher.commit(key, rows))
        source = {"metadataServiceUri": self.uri, "ledgersOfManifest": "m"}
        error = self.assertRaises(UnauthorizedAccessError, plan_batch, SourceOptions.parse(source), IdFilter())
        self.assertIn("option bookkeeper.ledgerKeyProvider is not set", str(error))
        readable = SourceOptions.parse({**source, **options_of(self.keys)})
        (partition,) = plan_batch(readable, IdFilter())
        (found,) = read_partition(partition, settings_of(readable))
        self.assertEqual(found["payload"].to_pylist(), [b"one", b"two"])
        self.client_config = ClientConfig(**self.keys)
        ((publication, row),) = published_rows(self.connect(), "m")
        self.assertEqual((row.entries, row.n_bytes), (2, 6))
        for ledger_id in (publication.rows_ledger, row.ledger_id):
            self.assertTrue(is_encrypted(self.client.ledger_metadata(ledger_id)))

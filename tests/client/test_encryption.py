"""Encrypted ledgers: written, read, recovered and damaged."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client.encryption import ALGORITHM, KEY, KEY_ID, ledger_encryption
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import (
    ConfigError,
    DigestMatchError,
    IllegalOperationError,
    IncorrectParameterError,
    UnauthorizedAccessError,
    UnexpectedConditionError,
)
from bookkeeper_twisted.model import LedgerState

from .cluster_case import ClusterCase, RealClusterCase

try:
    from bookkeeper_twisted.security.entry_cipher import OVERHEAD
except ImportError:
    SKIP: str | None = "needs the extra tls"
else:
    SKIP = None


class _EncryptedCase(ClusterCase):
    """A client that encrypts."""

    def setUp(self) -> None:
        super().setUp()
        self.keys = self.mktemp()
        self.write_keys("k1")
        self.sealed = self.client(ledger_encryption=True, **self.key_config())

    def write_keys(self, *names: str) -> None:
        Path(self.keys).write_text("\n".join(f"{name} {b64encode(name.encode() * 16).decode()}" for name in names))

    def key_config(self) -> dict[str, Any]:
        return {"ledger_key_provider": "file", "ledger_key_file": self.keys}


class _Tests:
    """On any bookies."""

    def test_round_trip(self: Any) -> None:
        """Readers with the key get the payloads by every way to read; the bytes in the cluster are others."""
        payloads = [b"payload %d" % n * (n % 5) for n in range(300)]
        writer = self.do(self.sealed.create_ledger(3, 2, 2, b"pw", custom_metadata={"mine": b"1"}))
        self.do(writer.append(payloads[0]))
        self.do(writer.append_many(payloads[1:150]))
        self.do(writer.append_many(payloads[150:]))
        self.do(writer.close())
        reader = self.do(self.client(**self.key_config()).open_ledger(writer.ledger_id, b"pw"))
        self.assertEqual([each.data for each in self.do(reader.read(0, 299))], payloads)
        self.assertEqual(self.do(reader.read_entry(7)).data, payloads[7])
        batch = self.do(reader.read_batch(3))
        cut = [batch.buffer[start : start + size] for start, size in zip(batch.starts, batch.sizes, strict=True)]
        self.assertEqual(batch.payloads[:4], payloads[3:7])
        self.assertEqual(cut, list(batch.payloads))
        self.assertEqual(batch.entry(4).data, payloads[4])
        self.assertEqual(reader.length, sum(map(len, payloads)) + 300 * OVERHEAD)
        self.assertEqual(reader.metadata.custom_metadata["mine"], b"1")

    def test_without_the_key(self: Any) -> None:
        """A client without the key recovers the ledger, and its reads of entries are refused with the reason."""
        writer = self.do(self.sealed.create_ledger(3, 2, 2))
        self.do(writer.append_many([b"a", b"b"]))
        reader = self.do(self.bk.open_ledger(writer.ledger_id))
        self.assertEqual((reader.last_add_confirmed, reader.metadata.state), (1, LedgerState.CLOSED))
        error = self.error(reader.read(0, 1), UnauthorizedAccessError)
        self.assertIn("ledgerKeyProvider is not set", str(error))
        known = self.do(self.sealed.open_ledger(writer.ledger_id))
        self.assertEqual([each.data for each in self.do(known.read(0, 1))], [b"a", b"b"])

    def test_tail(self: Any) -> None:
        """A reader that follows the writer gets what was written."""
        writer = self.do(self.sealed.create_ledger(3, 3, 2))
        reader = self.do(self.sealed.open_ledger(writer.ledger_id, recover=False))
        wait = reader.read_last_add_confirmed_and_entry(0, 60.0)
        self.do(writer.append(b"first"))
        self.do(writer.append(b"second"))
        for _ in range(100):
            self.clock.advance(0.1)
            if wait.called:
                break
        self.assertEqual(self.do(wait).entry.data, b"first")


class EncryptedLedgerTests(_Tests, _EncryptedCase):
    """With bookies in memory."""

    skip = SKIP

    def test_numbered_by_the_caller(self) -> None:
        """Entries that are given out of order are encrypted with their own ids."""
        writer = self.do(self.sealed.create_ledger_adv(None, 3, 2, 2))
        late = [writer.write(entry_id, b"%d" % entry_id) for entry_id in (2, 1)]
        self.do(writer.write(0, b"0"))
        for each in late:
            self.do(each)
        reader = self.do(self.sealed.open_ledger(writer.ledger_id))
        self.assertEqual([each.data for each in self.do(reader.read(0, 2))], [b"0", b"1", b"2"])

    def test_largest(self) -> None:
        """The limit of payloads leaves room for what the encryption adds."""
        plain, writer = self.do(self.bk.create_ledger(1, 1, 1)), self.do(self.sealed.create_ledger(1, 1, 1))
        self.assertEqual(plain._largest - writer._largest, OVERHEAD)
        self.do(writer.append(bytes(writer._largest)))
        self.error(writer.append(bytes(writer._largest + 1)), IncorrectParameterError)

    def test_refused(self) -> None:
        """Threads cannot append, and callers cannot use the names of the metadata."""
        writer = self.do(self.sealed.create_ledger(1, 1, 1))
        self.assertRaises(IllegalOperationError, writer.appender)
        for name in (ALGORITHM, KEY_ID, KEY):
            self.error(self.bk.create_ledger(1, 1, 1, custom_metadata={name: b""}), IncorrectParameterError)

    def test_lying_bookie(self) -> None:
        """An entry that a bookie has changed, with a right CRC32C, is read from another bookie; of all, it is an error.

        The digest does not protect from a bookie, because everybody can compute it.
        """
        writer = self.do(self.sealed.create_ledger(3, 3, 3))
        self.do(writer.append_many([b"one", b"two"]))
        self.do(writer.close())
        digester = writer._ledger.digester
        for count, bookie_id in enumerate(writer.metadata.segments[0].bookies, 1):
            stored = self.bookies[bookie_id].entries[writer.ledger_id]
            entry = stored[1]
            payload = entry[32 + digester.size :]
            forged = payload[:-1] + bytes([payload[-1] ^ 1])
            stored[1] = entry[:32] + digester.digest(entry[:32] + forged) + forged
            reader = self.do(self.sealed.open_ledger(writer.ledger_id))
            if count < 3:
                self.assertEqual([each.data for each in self.do(reader.read(0, 1))], [b"one", b"two"])
            else:
                self.error(reader.read(1, 1), DigestMatchError)

    def test_all_lie(self) -> None:
        """An entry that all bookies have swapped, cut, or taken from elsewhere is named; those before it are given."""
        payloads = [b"%04d" % n for n in range(60)]
        writers = [self.do(self.sealed.create_ledger(3, 3, 3)) for _ in range(2)]
        for each in writers:
            self.do(each.append_many(payloads))
            self.do(each.close())
        writer, digester, bad = writers[0], writers[0]._ledger.digester, 40
        held = [[self.bookies[name].entries for name in each.metadata.segments[0].bookies] for each in writers]
        bookies = held[0]
        ours, others = (dict(of[0][each.ledger_id]) for of, each in zip(held, writers, strict=True))
        at = 32 + digester.size
        for payload in (ours[bad - 1][at:], ours[bad][at:-1], ours[bad][at : at + 3], others[bad][at:], payloads[bad]):
            for stored in bookies:
                head = ours[bad][:32]
                stored[writer.ledger_id][bad] = head + digester.digest(head + payload) + payload
            reader = self.do(self.sealed.open_ledger(writer.ledger_id))
            self.assertEqual(self.do(reader.read_entry(bad + 1)).data, payloads[bad + 1])
            error = self.error(reader.read(0, 59), DigestMatchError)
            self.assertEqual((error.ledger_id, error.entry_id), (writer.ledger_id, bad))
            found: list[bytes] = []

            async def iterate(reader: Any = reader, found: list[bytes] = found) -> None:
                async for batch in reader.batches():
                    found.extend(batch.payloads)

            self.error(Deferred.fromCoroutine(iterate()), DigestMatchError)
            self.assertEqual(found, payloads[:bad])

    def test_other_metadata(self) -> None:
        """An unknown algorithm, and a key that the provider does not have, are errors of the open."""
        writer = self.do(self.sealed.create_ledger(1, 1, 1))
        self.do(writer.close())
        self.write_keys("k2")
        error = self.error(self.client(**self.key_config()).open_ledger(writer.ledger_id), UnauthorizedAccessError)
        self.assertIn("has no key 'k1'", str(error))
        stored = self.do(self.cluster.ledgers.read(writer.ledger_id))
        changed = attrs.evolve(stored.value, custom_metadata={**stored.value.custom_metadata, ALGORITHM: b"ROT13"})
        self.do(self.cluster.ledgers.write(writer.ledger_id, changed, stored.version))
        error = self.error(self.sealed.open_ledger(writer.ledger_id), UnexpectedConditionError)
        self.assertIn("'ROT13'", str(error))

    def test_rewrap(self) -> None:
        """A key that is wrapped anew opens the ledger without the old key; entries stay as they are."""
        writer = self.do(self.sealed.create_ledger(1, 1, 1))
        self.do(writer.append(b"data"))
        self.do(writer.close())
        self.write_keys("k1", "k2")
        encryption = ledger_encryption(ClientConfig(**self.key_config()))
        assert encryption is not None
        results = [self.do(encryption.rewrap(self.cluster.ledgers, writer.ledger_id)) for _ in range(2)]
        self.assertEqual(results, [True, False])
        plain = self.do(self.bk.create_ledger(1, 1, 1))
        self.assertFalse(self.do(encryption.rewrap(self.cluster.ledgers, plain.ledger_id)))
        self.write_keys("k2")
        reader = self.do(self.client(**self.key_config()).open_ledger(writer.ledger_id))
        self.assertEqual(self.do(reader.read_entry(0)).data, b"data")

    def test_keys(self) -> None:
        """Each ledger has a key of its own, and each writer random bytes of its own."""
        encryption = ledger_encryption(ClientConfig(**self.key_config()))
        assert encryption is not None
        one, other = self.do(encryption.new_key()), self.do(encryption.new_key())
        self.assertNotEqual(one.key, other.key)
        self.assertNotIn(str(one.key), repr(one))
        self.assertNotEqual(one.cipher(1).encrypt(0, b"x", 0)[:4], one.cipher(1).encrypt(0, b"x", 0)[:4])

    def test_configuration(self) -> None:
        """Encryption without a provider is refused; a provider alone only reads."""
        error = self.assertRaises(ConfigError, ledger_encryption, ClientConfig(ledger_encryption=True))
        self.assertIn("needs ledgerKeyProvider", str(error))
        writer = self.do(self.client(**self.key_config()).create_ledger(1, 1, 1))
        self.assertNotIn(ALGORITHM, writer.metadata.custom_metadata)


class RealEncryptedLedgerTests(_Tests, RealClusterCase, _EncryptedCase):
    """With real bookies."""

    skip = SKIP

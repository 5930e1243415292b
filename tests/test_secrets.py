"""What no ``repr``, log line or error shows."""

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.ledger_creation import NewLedger
from bookkeeper_twisted.codec.messages import Header, ReadRequest, WriteLacRequest
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of, from_options, resolve
from bookkeeper_twisted.errors import MASK, ConfigError
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.model import DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.storage.interfaces import LedgerRow


class SecretTests(SynchronousTestCase):
    """Passwords and what is made of them are in no text."""

    def test_masked(self) -> None:
        """Where there is a secret its place shows a mask, in every value that has one."""
        header = Header(V3, 3, 1)
        for value in (
            LedgerMetadata(1, 1, 1, (Segment(0, ("b",)),), password=b"sesame"),
            NewLedger(
                ensemble_size=1, write_quorum=1, ack_quorum=1, password=b"sesame", digest_type=DigestType.HMAC,
                custom_metadata={},
            ),
            ReadRequest(header, 1, 0, master_key=b"sesame"), WriteLacRequest(header, 1, 0, b"sesame", b""),
            LedgerRow(1, master_key=b"sesame"), MetadataOptions(auth=("digest:user:sesame",)),
            ClientConfig(zk_auth="digest:user:sesame"), BookieConfig(zk_auth="digest:user:sesame"),
        ):  # fmt: skip
            with self.subTest(type(value).__name__):
                self.assertNotIn("sesame", repr(value))
                self.assertIn(MASK, repr(value))
        self.assertIn("password=b''", repr(LedgerMetadata(1, 1, 1, (Segment(0, ("b",)),))))

    def test_errors_of_a_configuration(self) -> None:
        """An error about a secret names its key and origin only."""
        secret = attrs.evolve(fields_of(BookieConfig)["zk_timeout"], key="k", secret=True)
        error = self.assertRaises(ConfigError, resolve, {"k": secret}, [from_options({"k": "sesame"})])
        self.assertEqual(str(error), f"k = {MASK}, option --k: expected an integer")

"""What no ``repr``, log line or error shows."""

from importlib import import_module
from pkgutil import walk_packages

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

import bookkeeper_twisted
from bookkeeper_twisted.client.writing.ledger_creation import NewLedger
from bookkeeper_twisted.codec.messages import AuthRequest, AuthResponse, Header, ReadRequest, WriteLacRequest
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of, from_options, resolve
from bookkeeper_twisted.errors import ConfigError, InvalidMetadataUriError
from bookkeeper_twisted.masking import MASK, without_credentials
from bookkeeper_twisted.metadata.drivers import create_driver
from bookkeeper_twisted.metadata.interfaces import MetadataOptions
from bookkeeper_twisted.model import DigestType, LedgerMetadata, Segment
from bookkeeper_twisted.storage.interfaces import LedgerRow

_SECRETS = ("auth_data", "credential", "master_key", "passwd", "password", "payload", "token", "zk_auth")


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
            AuthRequest(header, "p", b"sesame"), AuthResponse(header, "p", b"sesame"),
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
        self.assertEqual(str(error), f"k = {MASK!r}, option --k: expected an integer")

    def test_uris(self) -> None:
        """Credentials in a URI are masked wherever the URI is shown, and the rest of it is shown."""
        for uri, shown in (
            ("zk+hierarchical://user:sesame@h:1/l", f"zk+hierarchical://{MASK}@h:1/l"), ("sqlite:///a@b", f"sqlite://{MASK}@b"),
            ("zk://user:se/s,ame@open@h/l", f"zk://{MASK}@h/l"), ("zk://h:1;i:1/l", "zk://h:1;i:1/l"),
            ("zk://h/l?password=sesame", f"zk://h/l?password={MASK}"),
            ("x://h/l?a=1&auth_Token=sesame&b=2", f"x://h/l?a=1&auth_Token={MASK}&b=2"),
            ("x://h/l?secretKey=ses=ame;b", f"x://h/l?secretKey={MASK};b"), ("x://h?pwd=&timeout=3", "x://h?pwd=&timeout=3"),
        ):  # fmt: skip
            self.assertEqual(without_credentials(uri), shown)
            config = BookieConfig(metadata_service_uri=uri)
            self.assertIn(f"metadata_service_uri='{shown}'", repr(config))
            self.assertEqual(config.shown()["metadataServiceUri"], shown)
            self.assertEqual(config.metadata_service_uri, uri)
        for uri in (
            "zk://user:se/s,ame@h/l", "zk://user:sesame@h/l", "sqlite://user:sesame@h/", "x://user:sesame@h",
            "sqlite:///file?password=sesame", "x://h/l?token=sesame", "zk+x://h:1/l?apiKey=sesame", "zk://h/l?password=sesame",
            "metadata-store:x:y?token=sesame",
        ):  # fmt: skip
            error = self.assertRaises(InvalidMetadataUriError, create_driver, Clock(), uri)
            self.assertNotIn("ame", str(error).replace("parameters", ""))

    def test_assigned(self) -> None:
        """A password that a text assigns is masked, whatever its name begins with."""
        for name in ("password", "PASSWD", "keyPassword", "ssl.keystore.password", "tls_password"):
            self.assertEqual(without_credentials(f'{name} = "ses ame";'), f"{name} = {MASK};")

    def test_every_class(self) -> None:
        """No class shows an attribute whose name says that it is a secret."""
        package = bookkeeper_twisted.__name__
        names = [found.name for found in walk_packages(bookkeeper_twisted.__path__, f"{package}.")]
        shown = {
            f"{kind.__name__}.{field.name}"
            for name in names if not name.startswith(f"{package}.spark")  # needs PySpark
            for kind in vars(import_module(name)).values() if isinstance(kind, type) and attrs.has(kind)
            for field in attrs.fields(kind) if field.name in _SECRETS and field.repr is True
        }  # fmt: skip
        self.assertEqual(shown, set())

"""Reads of tasks over connections that are encrypted and authenticated, without Spark."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow

from bookkeeper_twisted.blocking_reads import Address, CopyTargets, ReadLimits, SocketPool, Timeouts
from bookkeeper_twisted.codec.adds import stored_adds
from bookkeeper_twisted.codec.operations import RECOVERY_ADD
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import BookKeeperError, ConfigError, ReadError
from bookkeeper_twisted.security import contexts
from bookkeeper_twisted.spark.options import SinkOptions, SourceOptions
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.ledger_writing import WriteAttempt, client_of, write_partition
from bookkeeper_twisted.spark.sink.manifest import BatchKey, published_rows
from bookkeeper_twisted.spark.sink.publishing import Publisher
from bookkeeper_twisted.spark.source.batch import plan_batch
from bookkeeper_twisted.spark.source.filters import IdFilter
from bookkeeper_twisted.spark.task.partition import connections, read_partition, settings_of
from bookkeeper_twisted.spark.task.security import SecuritySettings, connection_security, security_settings

from ...authentication.sasl.sasl_case import JAAS
from ...blocking_reads.made_up import DIGESTER, LEDGER, stored_entries
from ...integration.test_tls import ROOT, tls_keys
from ...security.certificates import Folder, authority, issued
from ..cluster_case import ClusterCase
from ..secured_case import SecuredCase, options_of

PAYLOADS = [b"%d" % n * (n % 40) for n in range(500)]


@contextmanager
def _connections_of(timeouts: Timeouts, security: SecuritySettings) -> Iterator[SocketPool]:
    """The connections of tasks with these settings; they are closed at the end, so that the next ones are new."""
    pool = connections(timeouts, ReadLimits().max_frame_size, security)
    try:
        yield pool
    finally:
        pool.close()


class TaskCase(SecuredCase):
    """Reads as the driver and the tasks make them.

    :ivar written: the ledger to read.
    """

    written = 1

    def parsed(self, **changed: Any) -> SourceOptions:
        """Options of the source, some of them changed."""
        given = {"metadataServiceUri": self.uri, **self.options, **options_of(changed)}
        return SourceOptions.parse({"ledger": str(self.written), **given})

    def read(self, **changed: Any) -> int:
        """Plan on the driver, send partitions to tasks, and read there; the number of entries."""
        options = self.parsed(**changed)
        settings = settings_of(options)
        planned = pickle.loads(pickle.dumps(plan_batch(options, IdFilter())))
        with _connections_of(settings.timeouts, settings.security):
            return sum(batch.num_rows for part in planned for batch in read_partition(part, settings))


class ReadTests(TaskCase):
    """What is read."""

    def test_entries(self) -> None:
        """Entries of ledgers that are closed, and of those that are written, are read in both protocols."""
        self.written = self.ledger(PAYLOADS)
        for wire in ("v2", "v3"):
            self.assertEqual(self.read(wire_protocol=wire), len(PAYLOADS))
        with self.client.create_ledger(3, 2, 2) as growing:
            growing.append_many(PAYLOADS)
            growing.append(b"tells the bookies that the others are confirmed")
            self.written = growing.ledger_id
            self.assertEqual(self.read(), len(PAYLOADS))

    def test_copies(self) -> None:
        """Entries are copied to bookies that lack them."""
        settings = settings_of(SourceOptions.parse({"metadataServiceUri": self.uri, "ledger": "1", **self.options}))
        run = EntryRun.of_entries(LEDGER, 0, list(stored_entries([b"x" * 100_000] * 40).values()))
        addresses = [Address(f"bookie-{i}", "127.0.0.1", bookie.port or 0) for i, bookie in enumerate(self.bookies)]
        with _connections_of(settings.timeouts, settings.security) as pool:
            targets = CopyTargets(pool)
            targets.write([(stored_adds(DIGESTER.master_key, run, RECOVERY_ADD), addresses)])
        self.assertEqual(targets.failed, {})

    def test_nothing_secret_travels(self) -> None:
        """Names of files are sent to tasks, and nothing of what is in these files; partitions have no credentials."""
        self.written = self.ledger(PAYLOADS)
        options = self.parsed(zk_auth="digest:user:planted")
        sent = [security_settings(options.client), settings_of(options), plan_batch(options, IdFilter())]
        texts = [repr(options), *map(repr, sent), *(pickle.dumps(each).decode("latin-1") for each in sent)]
        self.assertIn(str(self.files.path), "".join(texts))
        self.assertNotIn("planted", "".join(texts))
        self.assert_no_secrets([*texts, pickle.dumps(options).decode("latin-1")])

    def test_tokens(self) -> None:
        """The file of a token is named in the settings, and the token is not."""
        path = Path(self.mktemp())
        path.write_text("head.planted.tail")
        path.chmod(0o600)
        keys = {**self.keys, "client_auth_provider_factory_class": "token", "client_auth_token_file": str(path)}
        settings = security_settings(ClientConfig(**keys))
        self.assertIn(("client_auth_token_file", str(path)), settings)
        shown = [repr(settings), repr(connection_security(settings)), repr(ClientConfig(**keys))]
        self.assertNotIn("planted", "".join(shown))

    def test_no_reactor(self) -> None:
        """A task that reads over secured connections loads no reactor."""
        check = (
            "import sys; from bookkeeper_twisted.blocking_reads import secured; "
            "from bookkeeper_twisted.protocol import tls_layer; from bookkeeper_twisted.spark.task.security import *; "
            f"connection_security({security_settings(ClientConfig(**self.keys))!r}); "
            "sys.exit('twisted.internet.reactor' in sys.modules)"
        )
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.assertEqual(subprocess.run([sys.executable, "-c", check], env=environ).returncode, 0)

    def test_nothing_to_secure(self) -> None:
        """Options without TLS and authentication give no settings, so tasks load no code for either."""
        self.assertEqual(security_settings(ClientConfig(zk_timeout=77)), ())


class RefusalTests(TaskCase):
    """What is refused, with an error that names bookies and the reason."""

    def setUp(self) -> None:
        super().setUp()
        self.written = self.ledger(PAYLOADS)

    def refused(self, wanted: str, kind: type[BookKeeperError] = ReadError, **changed: Any) -> None:
        """A read with changed options fails with an error that says what is wanted, at each bookie."""
        error = self.assertRaises(kind, self.read, **changed)
        self.assertRegex(str(error), wanted)
        if kind is ReadError:
            for number in range(3):
                self.assertIn(f"bookie-{number}", str(error))
        self.assert_no_secrets([str(error)])

    def test_users(self) -> None:
        """A wrong password and a missing one."""
        self.refused("the bookie refused the authent", wire_protocol="v3", sasl_jaas_client_section_name="Wrong")
        self.refused("lost during the authentication", wire_protocol="v2", sasl_jaas_client_section_name="Wrong")
        nobody: dict[str, Any] = {"client_auth_provider_factory_class": "", "sasl_jaas_config": ""}
        self.refused("unauthorized access", client_auth_required=False, **nobody)

    def test_certificates(self) -> None:
        """No certificate, one that the bookies do not trust, and bookies that the client does not trust."""
        self.refused("certificate required", tls_client_authentication=False)
        other = authority("another")
        self.files.put_pair(issued("a task", other), authority())
        self.refused("unknown ca")
        self.files.put_pair(issued("a task", authority()), other)
        self.refused("not in the trust store")

    def test_files(self) -> None:
        """A file that is not there is one sentence on the driver, before any task runs."""
        self.refused("tlsTrustStore = '/none'", ConfigError, tls_trust_store="/none")
        self.refused("saslJaasConfig = '/none'", ConfigError, sasl_jaas_config="/none")

    def test_extra(self) -> None:
        """Where the extra ``tls`` is missing the error names it."""

        def missing() -> None:
            raise ConfigError("TLS needs OpenSSL, which is not installed: pip install 'bookkeeper-twisted[tls]'")

        self.patch(contexts, "_require_library", missing)
        self.refused(r"bookkeeper-twisted\[tls\]", ConfigError)


class ClearBookieTests(ClusterCase):
    """Bookies without TLS and without authentication."""

    def refused(self, wanted: str, keys: dict[str, Any]) -> None:
        """Nothing is read with these attributes of the client's configuration; the error says why."""
        given = {"metadataServiceUri": self.uri, "ledger": str(self.ledger(PAYLOADS)), **options_of(keys)}
        options = SourceOptions.parse(given)
        (partition, *_) = plan_batch(options, IdFilter())
        settings = settings_of(options)
        with _connections_of(settings.timeouts, settings.security):
            error = self.assertRaises(ReadError, list, read_partition(partition, settings))
        self.assertRegex(str(error), wanted)

    def test_downgrade(self) -> None:
        """Options with TLS read nothing in clear."""
        files = Folder(Path(self.mktemp()))
        files.put_pair(issued("a task", authority()), authority())
        self.refused("bookie-0 does not encrypt the connection: it has no TLS", tls_keys(files))

    def test_authenticates_nobody(self) -> None:
        """Options that require authentication read nothing from a bookie that asks for none."""
        jaas = Path(self.mktemp())
        jaas.write_text(JAAS)
        jaas.chmod(0o600)
        sasl = {"client_auth_provider_factory_class": "sasl", "client_auth_required": True}
        self.refused("bookie-0: the bookie authenticates nobody", {**sasl, "sasl_jaas_config": str(jaas)})


class SinkTests(SecuredCase):
    """What tasks of the sink write."""

    def written(self, **changed: Any) -> int:
        """Write a row, publish it, and read the manifest; the number of its rows."""
        batch = pyarrow.RecordBatch.from_pydict({"payload": [b"entry"]})
        given = {"metadataServiceUri": self.uri, **self.options, **options_of(changed)}
        options = SinkOptions.parse(given)
        self.addCleanup(lambda: THREAD.wait(client_of(options).close))
        key = BatchKey("m", "q", 0)
        rows = write_partition(options, WriteAttempt(key, 0, 0), [batch])
        THREAD.wait(lambda: Publisher(THREAD.reactor, client_of(options), options).commit(key, rows))
        with _connections_of(Timeouts(), security_settings(self.client_config)):
            return len(list(published_rows(self.connect(), "m")))

    def test_written(self) -> None:
        """What tasks of the sink write is published and listed; a wrong password is an error that names a bookie."""
        self.assertEqual(self.written(), 1)
        wrong = {"sasl_jaas_client_section_name": "Wrong", "wire_protocol": "v3"}
        error = self.assertRaises(BookKeeperError, self.written, **wrong)
        self.assertRegex(str(error), "bookie-[012].*the bookie refused the authentication")
        self.assert_no_secrets([str(error)])

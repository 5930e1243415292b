"""Spark on bookies that require TLS, and certificates of clients and users of SASL or tokens; encrypted ledgers."""

import contextlib
import io
from pathlib import Path
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.client.encryption import is_encrypted
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.spark import main
from bookkeeper_twisted.spark.pipelines import verify
from bookkeeper_twisted.spark.reactor import THREAD

from .encrypted_case import OVERHEAD, key_line
from .secured_case import SecuredCase, options_of
from .session import EVENTS, missing, session

PAYLOADS = [b"%d" % n * (n % 40) for n in range(2000)]
_PASSWORD = "planted-passwd-7f3a"
_SHOWS_LOGICAL_PLANS = {
    "spark.sql.ui.explainMode": "extended", "spark.sql.redaction.options.regex": "(?i)url|passwd|zkauth",
}  # fmt: skip
"""Settings of Spark: logical plans, which have the options of writes, are on its page; ``zkAuth`` is masked."""


class SecuredSparkTests(SecuredCase):
    """The source, the sink and the pipelines, with the same options."""

    skip = missing() or None
    timeout = 900  # as of the other tests on Spark

    def setUp(self) -> None:
        super().setUp()
        self.spark = session()

    def load(self, **options: str) -> Any:
        """A DataFrame of the source."""
        given = {"metadataServiceUri": self.uri, **self.options, **options}
        return self.spark.read.format("bookkeeper").options(**given).load()

    def test_read_write_verify(self) -> None:
        """What is written is read, in batches and streams, and every replica is verified; no plan shows a secret."""
        self.secrets.append(_PASSWORD)
        password = {"bookkeeper.password": _PASSWORD, "bookkeeper.zkAuth": f"digest:user:{_PASSWORD}"}
        for key, value in _SHOWS_LOGICAL_PLANS.items():
            self.spark.conf.set(key, value)
            self.addCleanup(self.spark.conf.unset, key)
        ledger = self.ledger(PAYLOADS, _PASSWORD.encode())
        frame = self.load(ledger=str(ledger), **password)
        self.assertEqual([row.payload for row in frame.orderBy("entry_id").collect()], PAYLOADS)
        written = self.spark.range(50).selectExpr("CAST(id AS STRING) AS payload").write.format("bookkeeper")
        secured = {"metadataServiceUri": self.uri, "manifest": "secured", **self.options, **password}
        written.mode("append").options(**secured).save()
        self.assertEqual(self.load(ledgersOfManifest="secured", **password).count(), 50)
        replicas = verify.fragments(self.spark, self.uri, **self.options)
        passwords = verify.stored_passwords(self.uri, replicas, self.options)
        findings = verify.verify(replicas, passwords=passwords, parallelism=1, options=self.options).persist()
        states = [row.status for row in findings.collect()]
        self.assertGreater(len(states), 5)
        self.assertEqual(set(states), {"ok"})
        shown = [*_shown(self.spark, frame, findings), *self.events()]
        self.assertIn("bookkeeper.password=*********(redacted)", "".join(shown))  # of the write
        self.assert_no_secrets(shown)

    def events(self) -> list[str]:
        """The log of Spark's events."""
        found = [path.read_text() for path in EVENTS.iterdir()]
        self.assertIn("SparkListenerSQLExecutionStart", "".join(found))
        return found

    def encrypt(self) -> dict[str, str]:
        """Write a file with a key; add its keys to the options; return the options with which writers encrypt, too."""
        path = Path(self.mktemp()).absolute()
        path.touch(0o600)
        path.write_text(key_line("k7"))
        self.secrets.append(key_line("k7").split()[1])
        keys: dict[str, Any] = {"ledger_key_provider": "file", "ledger_key_file": str(path)}
        self.keys |= keys
        self.options |= options_of(keys)
        return {**self.options, **options_of({"ledger_encryption": True})}

    def copy(self, checkpoint: str, **options: str) -> None:
        """Copy what the ledgers of events have so far by a streaming query."""
        source = {"metadataServiceUri": self.uri, "ledgersPattern": "application=events", **self.options}
        reader = self.spark.readStream.format("bookkeeper").options(**source, startingOffsets="earliest")
        sink = reader.load().select("payload").writeStream.format("bookkeeper")
        sink = sink.options(metadataServiceUri=self.uri, manifest="copy", checkpointLocation=checkpoint, **options)
        sink.trigger(availableNow=True).start().awaitTermination()

    def test_streams(self) -> None:
        """Streams read encrypted ledgers and write their copies encrypted, in several batches; no plan shows a key."""
        sealed, checkpoint = self.encrypt(), str(Path(self.mktemp()).absolute())
        for number in range(2):
            self.encrypted_ledger(PAYLOADS[number::2])
            self.copy(checkpoint, **sealed)
        frame = self.load(ledgersOfManifest="copy")
        self.assertEqual(sorted(row.payload for row in frame.collect()), sorted(PAYLOADS))
        manifest = {row.ledger_id for row in self.load(manifest="copy").collect()}
        for ledger_id in manifest:
            self.assertTrue(is_encrypted(self.client.ledger_metadata(ledger_id)))
        self.assert_no_secrets([*_shown(self.spark, frame), *self.events()])

    def encrypted_ledger(self, payloads: list[bytes]) -> int:
        """An encrypted ledger of events, written by Spark's client; its id."""
        sealed = BookKeeper.connect(self.uri, ClientConfig(ledger_encryption=True, **self.keys), thread=THREAD)
        self.addCleanup(sealed.close)
        with sealed.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as writer:
            writer.append_many(payloads)
        return writer.ledger_id

    def test_archive(self) -> None:
        """Encrypted ledgers are verified, exported, deleted and imported without the key; then the key opens them."""
        conf, path = Path(self.mktemp()).absolute(), Path(self.mktemp()).absolute()
        conf.write_text("".join(f"{key.partition('.')[2]}={text}\n" for key, text in self.options.items()))
        self.encrypt()
        ledger = self.encrypted_ledger(PAYLOADS)
        before = self.client.ledger_metadata(ledger)
        self.assertIn("2,000 entries", self.run_command("verify", self.uri, "--conf", str(conf)))
        self.run_command("export", self.uri, str(path), "--conf", str(conf))
        stored = self.spark.read.parquet(f"{path}/entries").orderBy("entry_id").collect()
        self.assertEqual([len(row.payload) for row in stored], [len(payload) + OVERHEAD for payload in PAYLOADS])
        self.assertNotIn(PAYLOADS[1999], bytes(stored[1999].payload))
        self.client.delete_ledger(ledger)
        for _ in range(2):  # an import with the same id may be repeated
            self.run_command("import", self.uri, str(path), "--conf", str(conf), "--write-id", "once")
        after = self.client.ledger_metadata(ledger)
        self.assertEqual((after.custom_metadata, after.length), (before.custom_metadata, before.length))
        self.assertEqual([row.payload for row in self.load(ledger=str(ledger)).orderBy("entry_id").collect()], PAYLOADS)
        self.assertIn("0 of 0 replicas", self.run_command("replicate", self.uri, "--conf", str(conf)))

    def run_command(self, *arguments: str) -> str:
        """What a command prints; it succeeds."""
        printed, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            status = main.main(["--parallelism", "2", *arguments])
        self.assertEqual(status, 0, errors.getvalue())
        self.assert_no_secrets([printed.getvalue(), errors.getvalue()])
        return printed.getvalue()

    def test_no_key(self) -> None:
        """Without the key a query is refused, in one sentence that names the ledger and the option; so is a stream."""
        plain = dict(self.options)
        self.encrypt()
        ledger = self.encrypted_ledger(PAYLOADS)
        self.options = plain
        wanted = f"ledger {ledger}: its entries are encrypted, and option bookkeeper.ledgerKeyProvider"
        with self.assertRaises(Exception) as caught:
            self.load(ledger=str(ledger)).count()
        self.assertIn(wanted, str(caught.exception))
        self.assertNotIn("Traceback", str(caught.exception))
        with self.assertRaises(Exception) as caught:
            self.copy(str(Path(self.mktemp()).absolute()), **plain)
        self.assertIn(wanted, str(caught.exception))

    def test_refused(self) -> None:
        """A wrong password is one sentence that names the bookies, at once and without a traceback."""
        with self.assertRaises(Exception) as caught:
            ledger = str(self.ledger(PAYLOADS))
            wrong = {"bookkeeper.saslJaasClientSectionName": "Wrong", "bookkeeper.wireProtocol": "v3"}
            self.load(ledger=ledger, **wrong).count()
        text = str(caught.exception)
        self.assertRegex(text, "bookie-[012]: unauthorized access: .*the bookie refused the authentication")
        self.assertNotIn("Traceback", text)
        self.assert_no_secrets([text])


class TokenSparkTests(SecuredSparkTests):
    """The same with TLS and tokens."""

    with_tokens = True

    def test_refused(self) -> None:
        """A token that is no token of the bookies is one sentence that names the bookies."""
        ledger = str(self.ledger(PAYLOADS))
        token = Path(self.keys["client_auth_token_file"])
        token.write_text(token.read_text()[:-4] + "AAAA")
        with self.assertRaises(Exception) as caught:
            self.load(ledger=ledger, **{"bookkeeper.wireProtocol": "v3"}).count()
        text = str(caught.exception)
        self.assertRegex(text, "bookie-[012]: unauthorized access: .*the bookie refused the authentication")
        self.assert_no_secrets([text])


def _shown(spark: Any, *frames: Any) -> list[str]:
    """What Spark shows of queries: their plans, and what its page shows of all that have run."""
    found: list[str] = []
    for frame in frames:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            for mode in ("extended", "formatted", "cost", "codegen"):
                frame.explain(mode=mode)
        found.append(output.getvalue())
        found.append(frame._jdf.queryExecution().toString())
    store = spark._jsparkSession.sharedState().statusStore()
    run = store.executionsList()
    for i in range(run.size()):
        one = run.apply(i)
        nodes = store.planGraph(one.executionId()).allNodes()
        found += [one.physicalPlanDescription(), one.details(), one.description()]
        found += [nodes.apply(j).desc() for j in range(nodes.size())]
    assert run.size() and all(found[:2])
    return found

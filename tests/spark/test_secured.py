"""Spark on bookies that require TLS, certificates of clients and users of SASL."""

import contextlib
import io
from typing import Any

from bookkeeper_twisted.spark.pipelines import verify

from .secured_case import SecuredCase
from .session import missing, session

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
        shown = _shown(self.spark, frame, findings)
        self.assertIn("bookkeeper.password=*********(redacted)", "".join(shown))  # of the write
        self.assert_no_secrets(shown)

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

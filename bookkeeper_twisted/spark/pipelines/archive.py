"""Exports ledgers to Parquet files (an archive), and imports them again with the same ids, entries and metadata.

An archive is a directory with two tables: ``entries``, and ``ledgers`` with the metadata of each ledger.  An export
writes the table ``ledgers`` last, so an archive without it is incomplete.  An archive contains no passwords.  An export
reads each ledger with the password in its metadata; if there is none, with the option ``bookkeeper.password``.  An
import gives all ledgers the password in this option.  The entries of encrypted ledgers stay encrypted in the archive,
so export and import need no key.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...errors import ConfigError
from ..driver.cluster import connected
from ..options import PASSWORD, client_config, without_password

_ENTRIES = "ledger_id BIGINT, entry_id BIGINT, payload BINARY"
_FACTS = ("ensemble_size", "write_quorum", "ack_quorum", "digest_type", "last_entry_id", "length")


def export(spark: SparkSession, uri: str, path: str, **options: str) -> DataFrame:
    """Write the closed ledgers that ``options`` select, or else all closed ledgers, to a new archive.

    :param options: options of the source, to select ledgers, and to set the password of ledgers whose metadata contain
        none.
    :returns: the exported ledgers.
    :raises bookkeeper_twisted.errors.ConfigError: the password of a ledger is not UTF-8, so no option can contain it.
    """

    options, usual = without_password(options)

    def read(**more: str) -> DataFrame:
        given = {"metadataServiceUri": uri, **options, **more}
        return spark.read.format("bookkeeper").options(**given).load()

    closed = read(view="ledgers").where("state = 'CLOSED'").persist()
    ids = [row.ledger_id for row in closed.where("last_entry_id >= 0").select("ledger_id").collect()]
    # drop the options that select ledgers, because each group of ledgers is read by its ids
    options = {key: value for key, value in options.items() if not key.startswith("ledger")}
    groups = _by_password(uri, ids, usual, options)
    spark.createDataFrame([], _ENTRIES).write.mode("errorifexists").parquet(f"{path}/entries")
    for password, ledgers in groups.items():
        entries = read(**{"ledgers": ",".join(map(str, ledgers)), PASSWORD: password, "decrypt": "false"})
        entries.select("ledger_id", "entry_id", "payload").write.mode("append").parquet(f"{path}/entries")
    closed.write.mode("errorifexists").parquet(f"{path}/ledgers")
    closed.unpersist()
    return spark.read.parquet(f"{path}/ledgers")


def _by_password(
    uri: str, ledger_ids: Iterable[int], usual: str, options: Mapping[str, str]
) -> Mapping[str, list[int]]:  # fmt: skip
    """Group ledgers by their passwords, because one read of the source uses one password for all its ledgers.

    :param usual: password of ledgers whose metadata have none.
    :param options: options of the source.
    """
    with connected(uri, client_config(options)) as cluster:
        known = cluster.metadata(ledger_ids)
    groups: dict[str, list[int]] = {}
    for ledger_id, metadata in sorted(known.items()):
        try:
            password = metadata.password.decode() if metadata.has_password else usual
        except UnicodeDecodeError:
            raise ConfigError(f"ledger {ledger_id} cannot be exported: its password is no UTF-8 text") from None
        groups.setdefault(password, []).append(ledger_id)
    return groups


def archived(spark: SparkSession, path: str) -> DataFrame:
    """Read an archive for :func:`restore`: return a row for each ledger and a row for each entry.

    The row of a ledger has entry id -1, and its payload is the properties of the ledger as JSON.

    :param path: directory of the archive, as a path or URL that Spark can read.
    """
    ledgers, entries = spark.read.parquet(f"{path}/ledgers"), spark.read.parquet(f"{path}/entries")
    custom = f.expr("transform_values(custom_metadata, (k, v) -> base64(v))").alias("custom_metadata")
    facts = f.to_json(f.struct(*_FACTS, custom, f.unix_millis("ctime").alias("ctime"))).cast("binary")
    heads = ledgers.select("ledger_id", f.lit(-1).cast("bigint").alias("entry_id"), facts.alias("payload"))
    return heads.unionByName(entries.select("ledger_id", "entry_id", "payload"))


def restore(rows: DataFrame, uri: str, parallelism: int = 8, **options: str) -> None:
    """Write the ledgers of an archive to a cluster, with the archived ids.

    If a ledger with such an id exists already, the import fails, unless an earlier attempt of this import has written
    it.

    :param rows: result of :func:`archived`.
    """
    ordered: Any = rows.repartition(parallelism, "ledger_id").sortWithinPartitions("ledger_id", "entry_id")
    writer = ordered.write.format("bookkeeper").mode("append").options(**options)
    writer.options(metadataServiceUri=uri, restore="true").save()

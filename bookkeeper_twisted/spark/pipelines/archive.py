"""Export of ledgers to Parquet and their import, with ledger ids, entries and metadata.

An archive is a directory with two tables: ``entries``, and ``ledgers``, which has the rows of the source's view
``ledgers``.  An export writes ``ledgers`` last, so an archive without it is incomplete.  An archive contains no
passwords.  An export reads each ledger with the password in its metadata, and with the option ``bookkeeper.password``
if there is none.  An import writes all ledgers with the password in that option.  An archive has the entries of
encrypted ledgers as bookies store them, so export and import need no key.
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
    """Write closed ledgers to an archive: the ledgers that ``options`` select, or all closed ledgers.

    :param options: options of the source, which select ledgers and set the password of those without one in their
        metadata.
    :returns: the exported ledgers.
    :raises bookkeeper_twisted.errors.ConfigError: the password of a ledger is not UTF-8, so no option can contain it.
    """

    options, usual = without_password(options)

    def read(**more: str) -> DataFrame:
        given = {"metadataServiceUri": uri, **options, **more}
        return spark.read.format("bookkeeper").options(**given).load()

    closed = read(view="ledgers").where("state = 'CLOSED'").persist()
    ids = [row.ledger_id for row in closed.where("last_entry_id >= 0").select("ledger_id").collect()]
    # Drop the options that select ledgers: from here on, each group of ledgers is selected by its ids.
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
    """Group ledgers by the passwords in their metadata, because one read of the source uses one password.

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
    """Read an archive for :func:`restore`: return one row with the properties of each ledger, and one per entry.

    The row with the properties has entry id -1; its payload is the properties as JSON.

    :param path: directory of the archive, in a notation that Spark knows.
    """
    ledgers, entries = spark.read.parquet(f"{path}/ledgers"), spark.read.parquet(f"{path}/entries")
    custom = f.expr("transform_values(custom_metadata, (k, v) -> base64(v))").alias("custom_metadata")
    facts = f.to_json(f.struct(*_FACTS, custom, f.unix_millis("ctime").alias("ctime"))).cast("binary")
    heads = ledgers.select("ledger_id", f.lit(-1).cast("bigint").alias("entry_id"), facts.alias("payload"))
    return heads.unionByName(entries.select("ledger_id", "entry_id", "payload"))


def restore(rows: DataFrame, uri: str, parallelism: int = 8, **options: str) -> None:
    """Write the ledgers of an archive under their old ids.

    If a ledger exists already, the import fails, unless an earlier attempt of the same import has written it.

    :param rows: result of :func:`archived`.
    """
    ordered: Any = rows.repartition(parallelism, "ledger_id").sortWithinPartitions("ledger_id", "entry_id")
    writer = ordered.write.format("bookkeeper").mode("append").options(**options)
    writer.options(metadataServiceUri=uri, restore="true").save()

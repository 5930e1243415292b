"""The columns of each kind of row that the source returns, in Spark's notation (DDL)."""

from pyspark.sql.types import StructType

from ...errors import ConfigError
from ..options import SourceOptions
from ..task.columns import columns_of

MANIFEST_DDL = (
    "manifest STRING, query_id STRING, batch_id BIGINT, partition_id INT, ledger_key STRING, ledger_id BIGINT, "
    "entries BIGINT, bytes BIGINT, published TIMESTAMP"
)
LEDGERS_DDL = (
    "ledger_id BIGINT, state STRING, last_entry_id BIGINT, length BIGINT, ensemble_size INT, write_quorum INT, "
    "ack_quorum INT, digest_type STRING, ctime TIMESTAMP, fragments INT, bookies ARRAY<STRING>, "
    "custom_metadata MAP<STRING,BINARY>"
)
FRAGMENTS_DDL = (
    "ledger_id BIGINT, fragment INT, first_entry_id BIGINT, last_entry_id BIGINT, end_known BOOLEAN, position INT, "
    "bookie_id STRING, "
    "host STRING, port INT, available BOOLEAN, ensemble_size INT, write_quorum INT, ack_quorum INT, "
    "digest_type STRING, entry_bytes DOUBLE"
)


def schema_of(options: SourceOptions) -> str:
    """Return the columns of the rows that the ``options`` select, as DDL."""
    reading = options.reading
    if reading.manifest:
        return MANIFEST_DDL
    if reading.view != "entries":
        return LEDGERS_DDL if reading.view == "ledgers" else FRAGMENTS_DDL
    return columns_of(options).ddl()


def check_columns(options: SourceOptions, schema: StructType) -> None:
    """Check that a schema has the columns of the rows that the ``options`` select.

    :param schema: the schema of the query: the user's schema if the query calls ``schema()``, else that of
        :func:`schema_of`.
    :raises ConfigError: the columns differ.
    """
    wanted = schema_of(options)
    types = ((field, field.dataType.simpleString().upper()) for field in schema)
    given = ", ".join(f"{field.name} {kind}{'' if field.nullable else ' NOT NULL'}" for field, kind in types)
    if given != wanted:
        raise ConfigError(f"schema() gives the columns {given}: leave it out, these are {wanted}")

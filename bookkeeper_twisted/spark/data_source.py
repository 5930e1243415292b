"""The class that Spark calls for the format ``bookkeeper``: it makes the readers and writers of batches and streams.

Readers (:mod:`.source.readers`) and writers (:mod:`.sink.writers`) run in Python processes that Spark starts.  On the
driver, readers plan a read and writers commit or abort a write.  In tasks, Spark calls the method ``read`` of readers
and ``write`` of writers.  The modules for writing are imported only when they are needed, so that a task that reads
does not load Twisted.
"""

import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from .messages import plain_errors
from .options import SinkOptions, SourceOptions
from .source.readers import BatchReader, PushdownReader, StreamReader, ViewReader
from .source.schemas import check_columns, schema_of

if TYPE_CHECKING:
    from .sink.writers import BatchSink, RestoringSink, StreamSink

_PUSHDOWN = "pyspark.sql.worker.data_source_pushdown_filters"
"""A module that Spark loads in its planning process only if the session has filter pushdown switched on.

The source tests whether it is loaded, to choose a reader with or without filter pushdown.
"""


class BookKeeperDataSource(DataSource):
    """The data source that Spark uses for ``format("bookkeeper")``; :mod:`.options` describes its options."""

    @classmethod
    def name(cls) -> str:
        """Return ``bookkeeper``, the name that users pass to Spark's ``format()``."""
        return "bookkeeper"

    def schema(self) -> str:
        """Return the columns of the rows that the options select, as DDL, Spark's notation for schemas."""
        with plain_errors():
            return schema_of(SourceOptions.parse(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader for a batch query; called by Spark on the driver.

        :param schema: the schema that :meth:`schema` returned, or the schema that the user has set.
        :raises bookkeeper_twisted.errors.ConfigError: an option is unknown or wrong, or the schema does not fit.
        """
        with plain_errors():
            options = SourceOptions.parse(self.options)
            check_columns(options, schema)
        if options.reading.manifest or options.reading.view != "entries":
            return ViewReader(options)
        return PushdownReader(options) if _PUSHDOWN in sys.modules else BatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Make the reader for a streaming query; called by Spark on the driver."""
        return StreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchSink | RestoringSink":
        """Make the writer of a batch; called by Spark on the driver.

        :param schema: columns of the rows to write.
        :param overwrite: whether the user asked for mode ``overwrite``; the sink refuses this mode.
        :raises bookkeeper_twisted.errors.ConfigError: an option is unknown or wrong, or the schema does not fit.
        """
        from .sink.writers import BatchSink, RestoringSink

        with plain_errors():
            options = SinkOptions.parse(self.options)
            kind = RestoringSink if options.writing.restore else BatchSink
            return kind(options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamSink":
        """Make the writer of the batches of a stream; called by Spark on the driver."""
        from .sink.writers import StreamSink

        with plain_errors():
            return StreamSink(SinkOptions.parse(self.options), schema, overwrite)


DefaultSource = BookKeeperDataSource
"""The name under which Spark looks for the data source in ``pyspark_bookkeeper``."""

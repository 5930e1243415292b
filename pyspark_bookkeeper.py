"""Where Spark looks for data sources: it imports every top-level module named ``pyspark_*`` and takes its
DefaultSource.

An error here would hide the Python data sources of everybody, so nothing is imported before it is used.
"""

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """``format("bookkeeper")``; the source itself is loaded with the first query."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._source: Any = None

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "bookkeeper"

    def __getstate__(self) -> dict[str, Any]:
        """Options travel; the source is loaded again."""
        return {**self.__dict__, "_source": None}

    @property
    def _loaded(self) -> Any:
        if self._source is None:
            from bookkeeper_twisted.spark.data_source import BookKeeperDataSource

            self._source = BookKeeperDataSource(self.options)
        return self._source

    def schema(self) -> Any:
        """See :class:`bookkeeper_twisted.spark.data_source.BookKeeperDataSource`, as for all methods."""
        return self._loaded.schema()

    def reader(self, schema: Any) -> Any:
        return self._loaded.reader(schema)

    def streamReader(self, schema: Any) -> Any:
        return self._loaded.streamReader(schema)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        return self._loaded.writer(schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        return self._loaded.streamWriter(schema, overwrite)

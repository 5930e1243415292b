"""The readers of the source as Spark calls them: of batches, of views and of streams.

Planning runs on the driver, :meth:`read` in tasks.  Readers travel by pickling, so they hold options and nothing that
is open.  What plans is imported where it is called: a task that reads loads no Twisted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from ...errors import ConfigError
from ..messages import plain_errors
from ..options import ReadOptions, SourceOptions
from ..task.partition import read_partition, settings_of
from .filters import IdFilter
from .offsets import Admission, StreamOffset
from .schemas import check_columns

if TYPE_CHECKING:
    from .stream import StreamPlanner


class _WrappedPartition(InputPartition):
    """The type of the object in which Spark passes a partition to a reader."""

    value: Any


def _entries(options: SourceOptions, partition: InputPartition) -> Iterator[Any]:
    """Yield the record batches of a partition, in a task."""
    if partition.value is None:  # Spark passes a partition without a value if there is nothing to read
        return
    with plain_errors():
        yield from read_partition(partition.value, settings_of(options))


class BatchReader(DataSourceReader):
    """The reader of the entries of a batch query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._wanted = IdFilter()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of a ``partition``; called by Spark in a task."""
        return _entries(self._options, partition)

    def partitions(self) -> list[InputPartition]:
        """Return the work of the tasks; called by Spark on the driver."""
        from .batch import plan_batch

        with plain_errors():
            return [_WrappedPartition(partition) for partition in plan_batch(self._options, self._wanted)]


class PushdownReader(BatchReader):
    """The reader of a batch query in a Spark session with filter pushdown switched on.

    A class of its own, because Spark fails every query of a reader that has the method while
    ``spark.sql.python.filterPushdown.enabled`` is off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters that compare ids, and return the other filters, which Spark applies."""
        for one in filters:
            path: tuple[str, ...] = getattr(one, "attribute", ())
            column = path[0] if len(path) == 1 else ""
            if not self._wanted.accept(type(one).__name__, column, getattr(one, "value", None)):
                yield one


class ViewReader(DataSourceReader):
    """The reader of rows that the driver has read: those of a manifest, of ledgers or of fragments."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return the rows in partitions of some thousand rows; called by Spark on the driver."""
        from .batch import view_rows

        with plain_errors():
            rows = view_rows(self._options)
        return [_WrappedPartition(rows[at : at + _ROWS_AT_ONCE]) for at in range(0, len(rows), _ROWS_AT_ONCE)]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        """Yield the rows that the driver put into a ``partition``; called by Spark in a task."""
        yield from partition.value or ()


_ROWS_AT_ONCE = 20_000


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of the entries of a streaming query as ledgers grow.

    Options are parsed by the first call that needs them: Spark hides an error that is raised before it has a reader.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given = dict(given)
        self._schema = schema
        self._planner: StreamPlanner | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, in which tasks get the options without the planner."""
        return {**self.__dict__, "_planner": None}

    @cached_property
    def _options(self) -> SourceOptions:
        with plain_errors():
            options = SourceOptions.parse(self._given)
            if options.reading.manifest or options.reading.view != "entries":
                raise ConfigError("a stream reads entries: options manifest and view are for batches")
            check_columns(options, self._schema)
            return options

    @property
    def _plan(self) -> "StreamPlanner":
        if self._planner is None:
            from .stream import StreamPlanner

            self._planner = StreamPlanner(self._options)
        return self._planner

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset at which a new query begins."""
        with plain_errors():
            return self._plan.initial_offset().to_json()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the offset at which the next micro-batch ends."""
        with plain_errors():
            begin = StreamOffset.from_json(start)
            return self._plan.latest_offset(begin, admission_of(self._options.reading, limit)).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that the options set."""
        own = self._options.reading
        if own.max_entries_per_trigger:
            return ReadMaxRows(own.max_entries_per_trigger)
        return ReadMaxBytes(own.max_bytes_per_trigger) if own.max_bytes_per_trigger else ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return None: the latest offset is not known without asking the bookies once more."""
        return None

    def prepareForTriggerAvailableNow(self) -> None:
        """End the query with the entries that can be read now."""
        with plain_errors():
            self._plan.set_target()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        """Plan the work of the tasks of one micro-batch; called by Spark on the driver.

        :param start: offset, as JSON; entries before it were read.
        :param end: offset, as JSON.
        """
        if start == end:
            return []
        with plain_errors():
            planned = self._plan.partitions(StreamOffset.from_json(start), StreamOffset.from_json(end))
            return [_WrappedPartition(partition) for partition in planned]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of a ``partition``; called by Spark in a task."""
        return _entries(self._options, partition)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Do nothing when the micro-batch up to ``end`` is done: Spark's checkpoint has the offsets."""

    def stop(self) -> None:
        """End the connection to the metadata store."""
        if self._planner is not None:
            self._planner.close()


def admission_of(own: ReadOptions, limit: ReadLimit) -> Admission:
    """Return the limits of a micro-batch.

    :param own: the options of the read, whose limits hold for each micro-batch.
    :param limit: Spark's; a wish for all that is available counts more than ``own``, another limit beside it.
    """
    if isinstance(limit, ReadAllAvailable):
        return Admission(None, None)
    entries = [n for n in (own.max_entries_per_trigger, getattr(limit, "max_rows", 0)) if n]
    n_bytes = [n for n in (own.max_bytes_per_trigger, getattr(limit, "max_bytes", 0)) if n]
    return Admission(min(entries, default=None), min(n_bytes, default=None))

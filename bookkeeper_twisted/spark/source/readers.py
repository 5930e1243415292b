"""The readers of batches, views and streams, whose methods Spark calls.

Spark calls the method ``read`` in tasks, and all other methods on the driver.  It pickles readers to send them to
tasks, so a reader contains options but no open connection.  The modules for planning are imported only by the methods
that plan, so that a task does not load Twisted.
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
    """A partition in the form that Spark needs to pass it from the driver to a task."""

    value: Any


def _entries(options: SourceOptions, partition: InputPartition) -> Iterator[Any]:
    """Read the entries of a partition in a task, and yield them as Arrow record batches."""
    # if the driver returned no partition, Spark runs a task with a partition that has no value
    if partition.value is None:
        return
    with plain_errors():
        yield from read_partition(partition.value, settings_of(options))


class BatchReader(DataSourceReader):
    """Reads entries for a batch query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._wanted = IdFilter()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read the entries of a ``partition`` as Arrow record batches; called by Spark in a task."""
        return _entries(self._options, partition)

    def partitions(self) -> list[InputPartition]:
        """Plan the read and return a partition for each task; called by Spark on the driver."""
        from .batch import plan_batch

        with plain_errors():
            return [_WrappedPartition(partition) for partition in plan_batch(self._options, self._wanted)]


class PushdownReader(BatchReader):
    """Reads entries for a batch query, if the Spark session has filter pushdown switched on.

    Only this class has the method ``pushFilters``: if ``spark.sql.python.filterPushdown.enabled`` is off, Spark fails a
    query whose reader has the method.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Accept the filters that compare ledger or entry ids; yield the filters that Spark must apply itself."""
        for one in filters:
            path: tuple[str, ...] = getattr(one, "attribute", ())
            column = path[0] if len(path) == 1 else ""
            if not self._wanted.accept(type(one).__name__, column, getattr(one, "value", None)):
                yield one


class ViewReader(DataSourceReader):
    """Returns the rows of a view (a table of metadata) or of a manifest (a list of published ledgers).

    The driver makes all rows; tasks only return them to Spark.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Make the rows and divide them into partitions of some thousand rows; called by Spark on the driver."""
        from .batch import view_rows

        with plain_errors():
            rows = view_rows(self._options)
        return [_WrappedPartition(rows[at : at + _ROWS_AT_ONCE]) for at in range(0, len(rows), _ROWS_AT_ONCE)]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        """Yield the rows that the driver put into a ``partition``; called by Spark in a task."""
        yield from partition.value or ()


_ROWS_AT_ONCE = 20_000


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads entries for a streaming query, while ledgers grow.

    The options are not parsed by the constructor, but by the first method that needs them, because Spark hides the text
    of errors that a constructor raises.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given = dict(given)
        self._schema = schema
        self._planner: StreamPlanner | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle for tasks: all but the planner, which has an open connection."""
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
        """Return the offset at which a new query begins, as JSON."""
        with plain_errors():
            return self._plan.initial_offset().to_json()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the offset at which the micro-batch that begins at ``start`` ends, as JSON."""
        with plain_errors():
            begin = StreamOffset.from_json(start)
            return self._plan.latest_offset(begin, admission_of(self._options.reading, limit)).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Tell Spark the limit of a micro-batch that the options set."""
        own = self._options.reading
        if own.max_entries_per_trigger:
            return ReadMaxRows(own.max_entries_per_trigger)
        return ReadMaxBytes(own.max_bytes_per_trigger) if own.max_bytes_per_trigger else ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return None, which means "unknown", because it would take time to ask bookies for the latest offset."""
        return None

    def prepareForTriggerAvailableNow(self) -> None:
        """Set the end of the query to the entries that can be read now; later entries are not read."""
        with plain_errors():
            self._plan.set_target()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        """Return the partitions of one micro-batch, one for each task; called by Spark on the driver.

        :param start: offset at which the micro-batch begins, as JSON.
        :param end: offset at which it ends, as JSON.
        """
        if start == end:
            return []
        with plain_errors():
            planned = self._plan.partitions(StreamOffset.from_json(start), StreamOffset.from_json(end))
            return [_WrappedPartition(partition) for partition in planned]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read the entries of a ``partition`` as Arrow record batches; called by Spark in a task."""
        return _entries(self._options, partition)

    def commit(self, end: Mapping[str, Any]) -> None:
        """Do nothing with the offset ``end`` of a finished micro-batch, because Spark stores it in the checkpoint."""

    def stop(self) -> None:
        """Close the connection to the metadata store."""
        if self._planner is not None:
            self._planner.close()


def admission_of(own: ReadOptions, limit: ReadLimit) -> Admission:
    """Return the limits of a micro-batch, from the options and from Spark's limit.

    :param own: the options that the user has set for the read.
    :param limit: Spark's limit.  If it is "all available entries", the result has no limits.  Otherwise each limit of
        the result is the lower one of the option's limit and Spark's limit.
    """
    if isinstance(limit, ReadAllAvailable):
        return Admission(None, None)
    entries = [n for n in (own.max_entries_per_trigger, getattr(limit, "max_rows", 0)) if n]
    n_bytes = [n for n in (own.max_bytes_per_trigger, getattr(limit, "max_bytes", 0)) if n]
    return Admission(min(entries, default=None), min(n_bytes, default=None))

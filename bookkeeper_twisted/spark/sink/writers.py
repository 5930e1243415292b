"""The classes of the sink that Spark calls; Spark may write a batch several times, but it is published only once."""

import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, StringType, StructType

from ...errors import BookKeeperError, ConfigError
from ..messages import plain_errors
from ..options import SinkOptions
from ..reactor import THREAD
from .ledger_writing import WriteAttempt, client_of, write_partition
from .manifest import BatchKey, PublishedLedger
from .publishing import Publisher
from .restoring import remove_marks, restore_partition

_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"


@attrs.frozen
class Written(WriterCommitMessage):
    """The message of a task to Spark's driver: the ledgers that the task has written.

    :ivar rows: for each of these ledgers, its row for the manifest (the list of the published ledgers); empty if
        an earlier attempt has published the batch.
    """

    key: BatchKey
    rows: Sequence[PublishedLedger]


def check_schema(schema: StructType, overwrite: bool) -> None:
    """Check that the sink can write rows with the columns of a ``schema``.

    :param overwrite: whether the user asked for mode overwrite.
    :raises ConfigError: a column is missing, unknown or has the wrong type, or the mode is overwrite.
    """
    if overwrite:
        raise ConfigError("mode overwrite is not supported: ledgers are written once; use mode append")
    types = {field.name: field.dataType for field in schema.fields}
    if not isinstance(types.get("payload"), BinaryType | StringType):
        raise ConfigError("column payload of type BINARY or STRING is missing: its values become entries")
    if "ledger_key" in types and not isinstance(types["ledger_key"], StringType):
        raise ConfigError("column ledger_key is not of type STRING: cast it, for example CAST(id AS STRING)")
    if unknown := sorted(types.keys() - {"payload", "ledger_key"}):
        raise ConfigError(f"columns {', '.join(unknown)} would be lost: select payload and ledger_key only")


class _Sink:
    """The common base class of the sinks of batches and of streams."""

    def __init__(self, options: SinkOptions, schema: StructType, overwrite: bool) -> None:
        check_schema(schema, overwrite)
        self._options = options

    def _write(self, key: BatchKey, batches: Iterator[Any]) -> Written:
        task = TaskContext.get()
        assert task is not None
        attempt = WriteAttempt(key, task.partitionId(), task.taskAttemptId())
        with plain_errors():
            return Written(key, write_partition(self._options, attempt, batches))

    def _publisher(self) -> Publisher:
        return Publisher(THREAD.reactor, client_of(self._options), self._options)

    def _commit(self, key: BatchKey, messages: Sequence[WriterCommitMessage | None]) -> None:
        rows = [row for message in messages if isinstance(message, Written) for row in message.rows]
        with plain_errors():
            publisher = self._publisher()
            THREAD.wait(lambda: publisher.commit(key, rows))

    def _abort(self, key: BatchKey) -> None:
        publisher = self._publisher()
        THREAD.wait(lambda: publisher.abort(key))


@contextmanager
def _leftovers_are_warned_about() -> Iterator[None]:
    """Turn errors of an abort into warnings, because an exception would hide the reason why the tasks failed."""
    try:
        yield
    except BookKeeperError as error:
        warnings.warn(f"ledgers of tasks that failed may be left over: {error}", RuntimeWarning, stacklevel=3)


class BatchSink(_Sink, DataSourceArrowWriter):
    """The sink of one batch; a user who sets option ``writeId`` can repeat the write without duplicates."""

    def __init__(self, options: SinkOptions, schema: StructType, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite)
        write_id = options.writing.write_id or str(uuid.uuid4())
        self._key = BatchKey(options.writing.manifest or write_id, write_id, 0)

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write the rows of a partition; called by Spark in a task.

        :param iterator: Arrow record batches.
        :returns: the written ledgers, for :meth:`commit`.
        """
        return self._write(self._key, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the batch after all tasks have written; called by Spark on the driver.

        :param messages: the results of :meth:`write` in the tasks.
        """
        self._commit(self._key, messages)
        self._end()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the ledgers of the batch after a task has failed for good; called by Spark on the driver.

        :param messages: not used, because the ledgers of the batch are found by their custom metadata.
        """
        with _leftovers_are_warned_about():
            self._abort(self._key)
            self._end()

    def _end(self) -> None:
        publisher = self._publisher()
        THREAD.wait(lambda: publisher.end(self._key))


@attrs.frozen
class Restored(WriterCommitMessage):
    """The message of an import's task to Spark's driver: the ids of the ledgers that the task has written.

    While an import runs, the custom metadata of its ledgers contain a mark.  When all tasks have ended, the driver
    removes the mark from the ledgers in these messages.
    """

    ledger_ids: Sequence[int]


class RestoringSink(DataSourceArrowWriter):
    """The sink that imports the ledgers of an archive.

    With the option ``writeId``, an import that failed can be run again.
    """

    def __init__(self, options: SinkOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite or {field.name for field in schema.fields} != {"ledger_id", "entry_id", "payload"}:
            raise ConfigError("option restore takes columns ledger_id, entry_id and payload, in mode append")
        self._options = options
        self._restored_by = options.writing.write_id or str(uuid.uuid4())

    def write(self, iterator: Iterator[Any]) -> Restored:
        """Write the rows of a partition to ledgers with the archived ids; called by Spark in a task.

        :param iterator: Arrow record batches.
        """
        with plain_errors():
            return Restored(restore_partition(self._options, self._restored_by, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove the import's mark from its ledgers after all tasks have ended; called by Spark on the driver.

        :param messages: the results of :meth:`write` in the tasks.
        """
        written = (n for message in messages if isinstance(message, Restored) for n in message.ledger_ids)
        with plain_errors():
            remove_marks(self._options, self._restored_by, written)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Keep the written ledgers, so that another import with the same ``writeId`` can continue; ignore ``messages``.
        """


class StreamSink(_Sink, DataSourceStreamArrowWriter):
    """The sink of a streaming query; a batch is identified by the query's id and the number of the batch."""

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write the rows of a partition of a micro-batch; called by Spark in a task.

        :param iterator: Arrow record batches.
        """
        task = TaskContext.get()
        assert task is not None
        query_id, batch_id = task.getLocalProperty(_QUERY_ID), task.getLocalProperty(_BATCH_ID)
        assert query_id is not None and batch_id is not None, "a streaming task knows its query and batch"
        manifest = self._options.writing.manifest or query_id
        return self._write(BatchKey(manifest, query_id, int(batch_id)), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish a micro-batch after all its tasks have written; called by Spark on the driver.

        :param messages: the results of :meth:`write` in the tasks.
        :param batchId: not used, because the messages contain the identity of the batch.
        """
        for key in _keys(messages):
            self._commit(key, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Delete the ledgers of a micro-batch after a task has failed for good; called by Spark on the driver.

        :param messages: the results of :meth:`write` in the tasks that succeeded.
        :param batchId: not used, because the messages contain the identity of the batch.
        """
        with _leftovers_are_warned_about():
            for key in _keys(messages):
                self._abort(key)


def _keys(messages: Sequence[WriterCommitMessage | None]) -> set[BatchKey]:
    """Return the identities of the batches in the ``messages`` of tasks; none if no task has succeeded."""
    return {message.key for message in messages if isinstance(message, Written)}

"""Writing ledgers of an archive under their own ids, in a task.

Rows come by ledger and entry; the first of a ledger has entry -1 and holds how the ledger is to be made.  An attempt
that comes after one that failed finds its unfinished ledger and begins anew; one that is closed with the expected end
is done.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults

from ..client import AdvLedgerWriter, BookKeeper
from ..errors import (
    LedgerExistsError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    UnexpectedConditionError,
)
from ..model import DigestType
from .cluster import THREAD
from .ledger_writing import client_of
from .options import SinkOptions
from .pacing import pace_of

RESTORED_BY = "spark.restored-by"
_AT_ONCE = 2000


@attrs.frozen
class Facts:
    """The properties that a ledger was made with, and its end."""

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    digest_type: str
    last_entry_id: int
    length: int
    custom_metadata: Mapping[str, str]

    def custom(self, restored_by: str) -> dict[str, bytes]:
        """Return the ledger's custom metadata, and which import wrote it.

        :param restored_by: the import.
        """
        return {key: b64decode(value) for key, value in self.custom_metadata.items()} | {
            RESTORED_BY: restored_by.encode()
        }


class Restorer:
    """Writes the ledgers of one partition, one after the other.

    :param restored_by: the same for all attempts of an import.
    """

    def __init__(self, client: BookKeeper, password: bytes, restored_by: str) -> None:
        self._client = client
        self._password = password
        self._restored_by = restored_by
        self._writer: AdvLedgerWriter | None = None
        self._facts: Facts | None = None
        self._skipping = False
        self._under_way: list[Deferred[int]] = []
        self.written: list[int] = []

    async def take(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Write some rows; appends are acknowledged with later calls, or with :meth:`finish`.

        :param rows: ledger id, entry id and payload; before the entries of a ledger a row with entry -1 and its facts.
        :raises BookKeeperError: a ledger cannot be written; UnexpectedConditionError if that row is missing.
        """
        for ledger_id, entry_id, payload in rows:
            if entry_id < 0:
                await self.finish()
                await self._begin(ledger_id, Facts(**json.loads(payload)))
            elif not self._skipping:
                if self._writer is None or self._writer.ledger_id != ledger_id:
                    raise UnexpectedConditionError(f"ledger {ledger_id} has entries and no row in table ledgers")
                self._under_way.append(self._writer.write(entry_id, payload))
                if len(self._under_way) >= _AT_ONCE:
                    await self._settle()

    async def _begin(self, ledger_id: int, facts: Facts) -> None:
        self._facts, self._skipping = facts, False
        custom = facts.custom(self._restored_by)
        if await self._is_restored(ledger_id, facts):
            self._skipping = True
            self.written.append(ledger_id)
            return
        try:
            self._writer = await self._client.create_ledger_adv(
                ledger_id, facts.ensemble_size, facts.write_quorum, facts.ack_quorum, self._password,
                DigestType[facts.digest_type], custom,
            )  # fmt: skip
        except NotEnoughBookiesError as error:
            raise NotEnoughBookiesError(f"ledger {ledger_id}: {error}") from None

    async def _is_restored(self, ledger_id: int, facts: Facts) -> bool:
        """Whether an attempt before this one wrote a ledger; what it left unfinished is removed."""
        try:
            stored = (await self._client.ledger_metadata(ledger_id)).value
        except NoSuchLedgerMetadataError:
            return False
        if stored.custom_metadata.get(RESTORED_BY) != self._restored_by.encode():
            raise LedgerExistsError(f"ledger {ledger_id} exists: nothing is written over it")
        if stored.closed and (stored.last_entry_id, stored.length) == (facts.last_entry_id, facts.length):
            return True
        await self._client.delete_ledger(ledger_id)
        return False

    async def finish(self) -> None:
        """Close the ledger in progress, and check that it is whole."""
        writer, facts = self._writer, self._facts
        if writer is None or facts is None:
            return
        await self._settle()
        if writer.last_add_confirmed != facts.last_entry_id:
            raise UnexpectedConditionError(
                f"ledger {writer.ledger_id} of the archive ends with entry {writer.last_add_confirmed}, "
                f"not {facts.last_entry_id}"
            )
        await writer.close()
        self.written.append(writer.ledger_id)
        self._writer = None

    async def _settle(self) -> None:
        waiting, self._under_way = self._under_way, []
        await gatherResults(waiting, consumeErrors=True)


def restore_partition(options: SinkOptions, restored_by: str, batches: Iterable[Any]) -> list[int]:
    """Write the ledgers of a partition; returns their ids.

    :param batches: Arrow record batches with columns ``ledger_id``, ``entry_id``, ``payload``.
    """
    restorer = Restorer(client_of(options), options.password.value, restored_by)
    pace = pace_of("restore", options.writing.share)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("ledger_id", "entry_id", "payload")]
        rows = list(zip(*columns, strict=True))
        pace.spend(len(rows), batch.nbytes)
        THREAD.wait(lambda rows=rows: restorer.take(rows))  # type: ignore[misc]
    THREAD.wait(restorer.finish)
    return restorer.written

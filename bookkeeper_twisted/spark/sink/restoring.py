"""Writes the ledgers of an archive with the archived ids, in a Spark task.

The rows of an archive are sorted by ledger id and entry id.  The first row of a ledger has entry id -1 and contains the
properties of the ledger.  While an import runs, its ledgers have a mark in their custom metadata.  If an attempt fails,
the next attempt recognises the ledgers of the failed attempt by this mark: it keeps ledgers that are closed with the
archived last entry, and deletes and rewrites other ledgers.  When all ledgers are written, Spark's driver removes the
marks.  If an import with a name (``writeId``) is run again after that, it recognises its ledgers because their metadata
equal those in the archive.

The entries of encrypted ledgers are still encrypted in an archive, and the custom metadata contain the encrypted keys.
An import writes both unchanged, and needs no key (:class:`ArchiveClient`).  Readers with the key can decrypt the
entries, because ledger ids, entry ids and lengths are the same as before.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults

from ...client import AdvLedgerWriter, BookKeeper
from ...client.encryption import NewKey
from ...errors import (
    LedgerExistsError,
    NoSuchLedgerMetadataError,
    NotEnoughBookiesError,
    UnexpectedConditionError,
)
from ...metadata.update_loop import update
from ...model import DigestType, LedgerMetadata
from ..options import SinkOptions
from ..reactor import THREAD, results_of
from ..task.pacing import pace_of
from .ledger_writing import client_of

RESTORED_BY = "spark.restored-by"
_AT_ONCE = 2000


@attrs.frozen
class Facts:
    """The properties of an archived ledger.

    :ivar ctime: creation time in ms since the epoch; None if the archive has none.
    """

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    digest_type: str
    last_entry_id: int
    length: int
    custom_metadata: Mapping[str, str]
    ctime: int | None = None

    def custom(self) -> dict[str, bytes]:
        """Return the custom metadata of the archived ledger, without the mark that an earlier import has added."""
        return {key: b64decode(value) for key, value in self.custom_metadata.items() if key != RESTORED_BY}

    def has_end(self, metadata: LedgerMetadata) -> bool:
        """Test whether a stored ledger, by its ``metadata``, is closed with the archived last entry and length."""
        end = self.last_entry_id, self.length
        return metadata.closed and (metadata.last_entry_id, metadata.length) == end

    def describes(self, metadata: LedgerMetadata) -> bool:
        """Test whether a stored ledger's ``metadata`` equal the metadata of the archived ledger."""
        quorums = metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size
        known = (*quorums, metadata.digest_type.name, metadata.ctime, unmarked(metadata).custom_metadata)
        wanted = self.ensemble_size, self.write_quorum, self.ack_quorum, self.digest_type, self.ctime, self.custom()
        return self.has_end(metadata) and known == wanted


def unmarked(metadata: LedgerMetadata) -> LedgerMetadata:
    """Return ``metadata`` without the mark that an import adds to the custom metadata."""
    custom = {key: value for key, value in metadata.custom_metadata.items() if key != RESTORED_BY}
    return attrs.evolve(metadata, custom_metadata=custom)


class ArchiveClient(BookKeeper):
    """A client that writes the entries of an archive unchanged.

    It encrypts no entries, even if ``ledgerEncryption`` is set, and stores the encrypted keys of ledgers as custom
    metadata.
    """

    async def _new_key(self, custom_metadata: Mapping[str, bytes]) -> NewKey | None:
        return None


class Restorer:
    """Writes the archived ledgers of one partition, one after the other.

    :param restored_by: the value of the mark in the custom metadata of ledgers of this import; all attempts use the
        same value.
    :param repeatable: whether the import may be run again after its success.  Then a ledger without the mark counts as
        already imported if its metadata equal those in the archive.
    """

    def __init__(self, client: BookKeeper, password: bytes, restored_by: str, repeatable: bool) -> None:
        self._client = client
        self._ledgers = client.metadata.ledgers
        self._password = password
        self._repeatable = repeatable
        self._restored_by = restored_by
        self._writer: AdvLedgerWriter | None = None
        self._facts: Facts | None = None
        self._skipping = False
        self._under_way: list[Deferred[int]] = []
        self.written: list[int] = []

    async def take(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Start to write rows of the archive; later calls and :meth:`finish` wait for the acknowledgements.

        :param rows: ledger id, entry id and payload of each row.  The first row of a ledger has entry id -1; its
            payload is the properties of the ledger.
        :raises BookKeeperError: a ledger cannot be written.
        :raises UnexpectedConditionError: the row with the properties of a ledger is missing.
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
                    await self._wait_for_appends()

    async def _begin(self, ledger_id: int, facts: Facts) -> None:
        self._facts, self._skipping = facts, False
        custom = facts.custom() | {RESTORED_BY: self._restored_by.encode()}
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
        """Test whether an earlier attempt has written the whole ledger; delete the ledger if it is unfinished."""
        try:
            stored = await self._client.ledger_metadata(ledger_id)
        except NoSuchLedgerMetadataError:
            return False
        if stored.custom_metadata.get(RESTORED_BY) != self._restored_by.encode():
            if self._repeatable and facts.describes(stored):
                return True
            raise LedgerExistsError(f"ledger {ledger_id} exists: nothing is written over it")
        if facts.has_end(stored):
            # set the creation time again: the earlier attempt may have failed after the close and before setting it
            await self._set_ctime(ledger_id, facts)
            return True
        await self._client.delete_ledger(ledger_id)
        return False

    async def finish(self) -> None:
        """Close the present ledger, and check that its last entry is the last entry in the archive."""
        writer, facts = self._writer, self._facts
        if writer is None or facts is None:
            return
        await self._wait_for_appends()
        if writer.last_add_confirmed != facts.last_entry_id:
            raise UnexpectedConditionError(
                f"ledger {writer.ledger_id} of the archive ends with entry {writer.last_add_confirmed}, "
                f"not {facts.last_entry_id}"
            )
        await writer.close()
        await self._set_ctime(writer.ledger_id, facts)
        self.written.append(writer.ledger_id)
        self._writer = None

    async def _set_ctime(self, ledger_id: int, facts: Facts) -> None:
        """Set the archived creation time of a ledger, because applications expire ledgers by this time."""
        await update(
            self._ledgers, ledger_id, None, lambda stored: stored.ctime != facts.ctime,
            lambda stored: attrs.evolve(stored, ctime=facts.ctime),
        )  # fmt: skip

    async def _wait_for_appends(self) -> None:
        waiting, self._under_way = self._under_way, []
        await gatherResults(waiting, consumeErrors=True)


def restore_partition(options: SinkOptions, restored_by: str, batches: Iterable[Any]) -> list[int]:
    """Write the archived ledgers of a partition and return their ids.

    :param batches: Arrow record batches with columns ``ledger_id``, ``entry_id`` and ``payload``.
    """
    named = bool(options.writing.write_id)
    restorer = Restorer(client_of(options, ArchiveClient.connect), options.password.value, restored_by, named)
    pace = pace_of("restore", options.writing.share)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("ledger_id", "entry_id", "payload")]
        rows = list(zip(*columns, strict=True))
        pace.spend(len(rows), batch.nbytes)
        THREAD.wait(lambda rows=rows: restorer.take(rows))  # type: ignore[misc]
    THREAD.wait(restorer.finish)
    return restorer.written


def remove_marks(options: SinkOptions, restored_by: str, ledger_ids: Iterable[int]) -> None:
    """Remove the mark of the import from the custom metadata of its ledgers; block until all marks are removed.

    Call this when all ledgers are written.

    :param restored_by: the value of the mark of this import.
    :param ledger_ids: ids of all ledgers of the import.
    :raises BookKeeperError: the metadata store failed and some marks remain; the call may be repeated.
    """
    ledgers, mark = client_of(options, ArchiveClient.connect).metadata.ledgers, restored_by.encode()

    async def remove(ledger_id: int) -> None:
        with suppress(NoSuchLedgerMetadataError):  # skip a ledger that was deleted in the meantime
            await update(
                ledgers, ledger_id, None, lambda stored: stored.custom_metadata.get(RESTORED_BY) == mark, unmarked
            )

    THREAD.wait(partial(results_of, ledger_ids, remove))

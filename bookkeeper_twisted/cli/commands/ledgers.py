"""The commands ``listledgers``, ``ledgermetadata``, ``readledger``, ``deleteledger`` and ``rewrapledgerkeys``."""

from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterable

import attrs

from ...client.admin import BookKeeperAdmin
from ...codec.metadata_formats import decode_ledger_metadata, encode_ledger_metadata
from ...errors import (
    MetadataSerializationError,
    NoSuchEntryError,
    NoSuchLedgerError,
    NoSuchLedgerMetadataError,
    UnauthorizedAccessError,
    UnexpectedConditionError,
)
from ...ledger.schedule import Schedule
from ...metadata.interfaces import ILedgerManager
from ...metadata.undecoded import UndecodedLedgers
from ...model import Entry, LedgerMetadata
from ..shell_command import FAILED, FORCE, OK, PROGRESS, Argument, Command, ShellContext, from_
from ..shell_rows import Formats, ShellRow
from ..shell_text import line, metadata_text, on_one_line

_LEDGER = Argument(("-l", "ledgerid"), "ledger id", "ledger id")
_MISSING_RANGES = 100
"""Maximum number of ranges of missing entries that ``readledger -b`` prints one by one."""


@attrs.frozen
class ListedLedger(ShellRow):
    """A ledger in the list of ledgers, with its metadata if an option asks for them."""

    ledger_id: int
    metadata: LedgerMetadata | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        fields = {"metadata": metadata_text(self.metadata)} if self.metadata else {}
        yield line("log entry", ledgerId=formats.format_id(self.ledger_id), **fields)


@attrs.frozen
class ShownMetadata(ShellRow):
    """The metadata of one ledger."""

    ledger_id: int
    metadata: LedgerMetadata

    def text(self, formats: Formats) -> Iterable[str]:
        yield line("ledgerID", ledgerId=formats.format_id(self.ledger_id))
        yield line("log entry", metadata=metadata_text(self.metadata))


@attrs.frozen
class ReadEntry(ShellRow):
    """An entry of a ledger.

    :ivar size: size of the payload in bytes.
    :ivar data: the payload; None if no option asks for it.
    """

    ledger_id: int
    entry_id: int
    size: int
    data: bytes | None

    def text(self, formats: Formats) -> Iterable[str]:
        ledger_id = formats.format_id(self.ledger_id)
        yield line("Entry", entryId=self.entry_id, entrySize=self.size, ledgerId=ledger_id)
        if self.data is not None:
            yield formats.format_entry(self.data)


async def listledgers(shell: ShellContext, options: Namespace) -> int:
    """Print the ids of all ledgers, or of the ledgers that have a given bookie in an ensemble.

    Print each ledger whose metadata are needed but cannot be decoded to the error output, with the reason; fail then.
    """

    def unreadable(ledger_id: int, reason: str) -> None:
        fields = {"ledgerId": shell.format_id(ledger_id), "reason": on_one_line(reason)}
        shell.world.complain(line("Unable to read the ledger: its metadata cannot be decoded", **fields))

    undecoded = UndecodedLedgers(unreadable)
    async with await shell.admin() as admin:
        with shell.progress("listing", unit="ledgers") as advance:
            async for row in _listed(admin, options, undecoded, advance):
                shell.show(row)
    return FAILED if undecoded.ids else OK


async def _listed(
    admin: BookKeeperAdmin, options: Namespace, undecoded: UndecodedLedgers, advance: Callable[[int], object]
) -> AsyncIterator[ListedLedger]:  # fmt: skip
    """Yield the ledgers to list.

    :param undecoded: gets the ledgers whose metadata are needed and cannot be decoded.
    :param advance: moves the progress bar by the number of ledgers that were looked at, whether listed or not.
    """
    if options.bookieid or options.meta:
        async for ledger_id, metadata in admin.ledgers(undecoded=undecoded):
            advance(1)
            if not options.bookieid or options.bookieid in metadata.bookies:
                yield ListedLedger(ledger_id, metadata if options.meta else None)
        return
    async for ledger_id in admin.client.list_ledgers():
        advance(1)
        yield ListedLedger(ledger_id)


async def ledgermetadata(shell: ShellContext, options: Namespace) -> int:
    """Print the metadata of a ledger, write them to a file, or store them from a file."""
    if options.ledgerid is None:
        shell.out("Must specify a ledger id")
        return FAILED
    if options.restorefromfile or options.dumptofile:
        shell.refuse_json("prints metadata: not with -dumptofile or -restorefromfile")
    async with await shell.admin() as admin:
        if options.restorefromfile:
            await _restore(shell, admin.client.metadata.ledgers, options)
            return OK
        metadata = await admin.client.ledger_metadata(options.ledgerid)
        if options.dumptofile:
            shell.world.files.write(options.dumptofile, encode_ledger_metadata(metadata))
            return OK
        shell.show(ShownMetadata(options.ledgerid, metadata))
    return OK


async def _restore(shell: ShellContext, ledgers: ILedgerManager, options: Namespace) -> None:
    metadata = decode_ledger_metadata(shell.world.files.read(options.restorefromfile))
    if options.update:
        stored = await ledgers.read(options.ledgerid)
        await ledgers.write(options.ledgerid, metadata, stored.version)
    else:
        await ledgers.create(options.ledgerid, metadata)


async def readledger(shell: ShellContext, options: Namespace) -> int:
    """Print a range of entries of a ledger; if an option names a bookie, read them from this bookie only.

    Then the command fails if the bookie does not have an entry that it should have, or has none of the entries.
    """
    if options.ledgerid is None:
        shell.out("Must specify a ledger id")
        return FAILED
    wanted, recovered, first = options.ledgerid, options.force_recovery, options.firstentryid
    async with await shell.admin() as admin, await admin.open_ledger(wanted, recovered) as reader:
        end = last = reader.last_add_confirmed
        if options.lastentryid >= 0:
            last = min(end, options.lastentryid)
        entries: AsyncIterator[Entry] = reader.entries(first, last)
        replica = None
        if options.bookie:
            replica = _ReplicaReading(shell, options.bookie, wanted, await admin.client.ledger_metadata(wanted))
            entries = replica.entries(admin, first, last)
        with shell.progress("reading", max(last + 1 - first, 0), "entries") as advance:
            async for entry in entries:
                data = entry.data if options.msg else None
                shell.show(ReadEntry(entry.ledger_id, entry.entry_id, len(entry.data), data))
                advance(1)
    asked, low, high = first <= last, max(first, end + 1), max(first, options.lastentryid)
    if low <= high and (first or options.lastentryid >= 0):
        asked, name = True, shell.format_id(wanted)
        fields = {"ledgerId": name, "entryIds": _span(low, high), "lastAddConfirmed": end}
        shell.world.complain(line("Not read: behind the last add confirmed", **fields))
    return replica.end(asked) if replica else OK


class _ReplicaReading:
    """Reads entries of a ledger from one bookie only, and names the entries that it does not have, range by range."""

    def __init__(self, shell: ShellContext, bookie_id: str, ledger_id: int, metadata: LedgerMetadata) -> None:
        self._shell = shell
        self._bookie_id = bookie_id
        self._ledger_id = ledger_id
        self._metadata = metadata
        self._schedule = Schedule(metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size)
        self._found = 0
        self._elsewhere = 0
        self._missing = 0
        self._ranges = 0
        self._range: tuple[int, int, int] | None = None  # first id, last id, and number of the missing entries

    async def entries(self, admin: BookKeeperAdmin, first: int, last: int) -> AsyncIterator[Entry]:
        """Yield the entries from ``first`` to ``last`` that the bookie has."""
        try:
            for entry_id in range(first, last + 1):
                try:
                    entry = await admin.read_entry_from(self._bookie_id, self._ledger_id, entry_id)
                except (NoSuchEntryError, NoSuchLedgerError):
                    self._lacks(entry_id)
                    continue
                self._name()
                self._found += 1
                yield entry
        finally:
            self._name()  # the last range; also if the bookie no longer answers

    def _lacks(self, entry_id: int) -> None:
        """Count an entry that the bookie does not have."""
        ensemble = self._metadata.ensemble_at(entry_id)
        if self._bookie_id not in ensemble or not self._schedule.keeps(ensemble.index(self._bookie_id), entry_id):
            self._elsewhere += 1
            return
        self._missing += 1
        first, _, count = self._range or (entry_id, entry_id, 0)
        self._range = first, entry_id, count + 1

    def _name(self) -> None:
        """Print the range of missing entries that has ended, if there is one."""
        if self._range is None:
            return
        (first, last, count), self._range = self._range, None
        self._ranges += 1
        if self._ranges > _MISSING_RANGES:
            return
        if count == 1:
            text = line("Failed to read entry", entryId=first, error="No such entry")
        else:
            text = line("Failed to read entries", entryIds=_span(first, last), count=count, error="No such entry")
        self._shell.world.complain(text)

    def end(self, asked: bool) -> int:
        """Print the totals; return the exit status.

        :param asked: whether the user has asked for any entries.
        """
        where = {"bookieId": self._bookie_id, "ledgerId": self._shell.format_id(self._ledger_id)}
        if self._missing:
            fields = {"count": self._missing, "ranges": self._ranges, **where}
            self._shell.world.complain(line("Missing on this bookie", **fields))
        if self._elsewhere:
            fields = {"count": self._elsewhere, **where}
            self._shell.world.complain(line("Not to be on this bookie, and not there", **fields))
        return FAILED if self._missing or (asked and not self._found) else OK


def _span(first: int, last: int) -> str:
    """Format a range of entry ids, both inclusive."""
    return str(first) if first == last else f"{first}-{last}"


async def deleteledger(shell: ShellContext, options: Namespace) -> int:
    """Ask the user, then delete a ledger."""
    if options.ledgerid is None:
        shell.out("Ledger id error.")
        return FAILED
    name = shell.format_id(options.ledgerid)
    # the question is Apache's word for word, because scripts may wait for this text
    if shell.confirmed(f"Are your sure to delete Ledger : {name}?", options.force):
        async with await shell.admin() as admin:
            await admin.delete_ledger(options.ledgerid)
    return OK


async def rewrapledgerkeys(shell: ShellContext, options: Namespace) -> int:
    """Wrap the keys of encrypted ledgers with the newest key of ``ledgerKeyProvider``."""
    async with await shell.admin() as admin:
        encryption, ledgers = admin.client.context.encryption, admin.client.metadata.ledgers
        if encryption is None:
            shell.out("ledgerKeyProvider is not set: there is no key to wrap with")
            return FAILED
        examined = rewrapped = 0
        failed: list[int] = []
        with shell.progress("wrapping keys", unit="ledgers") as advance:
            async for ledger_id in _chosen(admin, options):
                examined += 1
                advance(1)
                try:
                    rewrapped += await encryption.rewrap(ledgers, ledger_id)
                except NoSuchLedgerMetadataError:  # the ledger was deleted after it was listed
                    continue
                except (MetadataSerializationError, UnauthorizedAccessError, UnexpectedConditionError) as error:
                    failed.append(ledger_id)
                    shell.out(f"ledger {shell.format_id(ledger_id)}: {error}")
        shell.out(line("Ledger keys wrapped", examined=examined, rewrapped=rewrapped, failed=len(failed)))
    return FAILED if failed else OK


async def _chosen(admin: BookKeeperAdmin, options: Namespace) -> AsyncIterator[int]:
    """Yield the ledger that the options name, or all ledgers."""
    if options.ledgerid is not None:
        yield options.ledgerid
        return
    async for ledger_id in admin.client.list_ledgers():
        yield ledger_id


COMMANDS = (
    Command(
        "listledgers", "List the ledgers of the cluster (this may take a while)", listledgers,
        (
            Argument(("-m", "meta"), "print their metadata", bool),
            Argument(("-bookieid",), "only ledgers that this bookie keeps a part of"),
            PROGRESS,
        ),
        ListedLedger,
    ),
    Command(
        "ledgermetadata", "Print the metadata of a ledger", ledgermetadata,
        (
            _LEDGER,
            Argument(("-dumptofile",), "write them to this file instead", "file"),
            Argument(("-restorefromfile",), "store what this file holds as the metadata of the ledger", "file"),
            Argument(("-update",), "with -restorefromfile: replace the metadata of a ledger that exists", bool),
        ),
        ShownMetadata,
    ),
    Command(
        "readledger", "Print a range of entries of a ledger", readledger,
        (
            Argument(("-m", "msg"), "print their data, see -entryformat", bool),
            Argument(("-l", "ledgerid"), "ledger id", "ledger id"),
            Argument(("-fe", "firstentryid"), "first entry id", from_(0), 0),
            Argument(("-le", "lastentryid"), "last entry id; -1: the last add confirmed", from_(-1), -1),
            Argument(("-r", "force-recovery"), "close the ledger properly before reading", bool),
            Argument(("-b", "bookie"), "only what this bookie holds; fails if it lacks what it should hold"),
            PROGRESS,
        ),
        ReadEntry,
    ),
    Command(
        "deleteledger", "Delete a ledger", deleteledger,
        (_LEDGER, FORCE),
    ),
    Command(
        "rewrapledgerkeys", "Wrap the keys of encrypted ledgers with the newest key of ledgerKeyProvider",
        rewrapledgerkeys, (Argument(("-l", "ledgerid"), "only of this ledger", "ledger id"), PROGRESS),
    ),
)  # fmt: skip

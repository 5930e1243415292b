"""The commands ``readlog`` and ``readjournal``: they print the records of an entry log or of a journal file.

The file belongs to the bookie on this machine.  The commands only read, so the bookie may run.
"""

import posixpath
import struct
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

import attrs

from ...masking import masked
from ...storage.entry_log.scan import LogScan, Record
from ...storage.journal.reader import JournalReader
from ...storage.ledger_dirs import JOURNAL_SUFFIX, current, entry_log_name, journal_name
from ..shell_command import FAILED, OK, PROGRESS, Argument, Command, OperandError, ShellContext, from_
from ..shell_rows import Formats, ShellRow
from ..shell_text import line
from .stored_files import LOG_OPERAND, check_exists, entry_log, file_id

_IDS = struct.Struct(">qq")
_NUMBER = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_MASTER_KEY = -0x1000
_FENCE = -0x2000
_DATA = 32
"""Size in bytes of ledger id, entry id, last add confirmed and length in a record; digest and payload follow."""


@attrs.frozen
class StoredRecord(ShellRow):
    """A record of an entry log or of a journal file.

    :ivar size: size of the record in bytes, without its length field.
    :ivar position: offset in the file.
    :ivar kind: ``entry``, ``masterKey``, ``fence`` or ``other``.
    :ivar last_add_confirmed: last add confirmed in the header of an entry; None for other records.
    :ivar master_key: the stored master key; None for records of other kinds.
    :ivar data: digest and payload of an entry; None if no option asks for them.
    """

    ledger_id: int
    entry_id: int
    size: int
    position: int
    kind: str
    last_add_confirmed: int | None = None
    master_key: bytes | None = attrs.field(default=None, repr=masked)
    data: bytes | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        ledger_id, entry_id = formats.format_id(self.ledger_id), self.entry_id
        yield line("Entry", entryId=entry_id, entrySize=self.size, ledgerId=ledger_id, position=self.position)
        if self.master_key is not None:
            key = self.master_key.hex()
            yield line("MasterKey", entryId=entry_id, ledgerId=ledger_id, masterKey=key, type="META")
        elif self.kind == "fence":
            yield line("Fenced", entryId=entry_id, ledgerId=ledger_id, type="META")
        elif self.kind == "entry":
            confirmed = self.last_add_confirmed
            yield line("Entry", entryId=entry_id, lastAddConfirmed=confirmed, ledgerId=ledger_id, type="DATA")
        if self.data is not None:
            yield formats.format_entry(self.data)


# ---- readlog -----------------------------------------------------------------------------------------


async def readlog(shell: ShellContext, options: Namespace) -> int:
    """Print all entries of an entry log, the entries of a ledger, one entry, or the entries in a range of offsets."""
    if options.entry_log is None:
        shell.out("Must specify an entry log, by its id or its file name")
        return FAILED
    if options.entryid is not None and options.ledgerid is None:
        raise OperandError("-entryid names an entry of the ledger that -ledgerid names")
    directory, log_id = entry_log(shell, options.entry_log)
    scan = LogScan(shell.world.store.disk, directory, log_id)
    shell.caption(_title(shell, options, log_id))
    found = False
    with shell.progress("reading", scan.file_size) as advance:
        for record in _wanted(scan, options, advance):
            shell.show(_read(shell, scan.path, record, options.msg))
            found = True
    if not found:
        shell.caption("The entry log holds no such entry")
    return OK


def _title(shell: ShellContext, options: Namespace, log_id: int) -> str:
    fields = {"file": entry_log_name(log_id)}
    if options.ledgerid is not None:
        entry = {} if options.entryid is None else {"entryId": options.entryid}
        fields |= {"ledgerId": shell.format_id(options.ledgerid), "logId": str(log_id)}
        return line("Scan entry log for LedgerId", **entry, **fields)
    ends = {}
    if options.startpos is not None or options.endpos is not None:
        ends = {"rangeEndPos": _number(options.endpos, -1), "rangeStartPos": _number(options.startpos, -1)}
    return line("Scan entry log", **fields, logId=log_id, **ends)


def _wanted(scan: LogScan, options: Namespace, advance: Callable[[int], object]) -> Iterator[Record]:
    """Yield the records of an entry log that the options select, by ledger or by offset.

    :param advance: moves the progress bar by the number of bytes that were read.
    """
    start, end = _number(options.startpos, 0), _number(options.endpos, scan.file_size)
    for record in scan:
        advance(record.size)
        if options.ledgerid is None:
            if end != -1 and record.offset > end:
                return
            chosen = record.offset + record.size > start
        else:
            chosen = record.ledger_id == options.ledgerid and options.entryid in (None, record.entry_id)
        if chosen:
            yield record


def _number(value: int | None, default: int) -> int:
    return default if value is None else value


def _read(shell: ShellContext, path: str, record: Record, with_data: bool) -> StoredRecord:
    size = record.size - _LENGTH.size
    with closing(shell.world.store.disk.open(path)) as file:
        body = file.pread(size if with_data else min(size, _DATA), record.offset + _LENGTH.size)
    return _record(body, size, record.offset, with_data)


def _record(body: bytes, size: int, position: int, with_data: bool) -> StoredRecord:
    """Return the fields of a record of an entry log or a journal.

    :param body: the record without its length field; without ``with_data``, its first :data:`_DATA` bytes suffice.
    :param size: size of the whole record in bytes, without its length field.
    :param position: offset of the record in the file.
    :param with_data: whether the result contains the digest and the payload of an entry.
    """
    ledger_id, entry_id = _IDS.unpack_from(body)
    record = partial(StoredRecord, ledger_id, entry_id, size, position)
    if entry_id == _MASTER_KEY:
        return record("masterKey", master_key=_key(body))
    if entry_id == _FENCE:
        return record("fence")
    if len(body) < _DATA:
        return record("other")
    (confirmed,) = _NUMBER.unpack_from(body, _IDS.size)
    return record("entry", confirmed, data=body[_DATA:] if with_data else None)


def _key(body: bytes) -> bytes:
    """Return the master key from the body of a journal record that stores a key."""
    start = _IDS.size + _LENGTH.size
    (length,) = _LENGTH.unpack(body[_IDS.size : start].ljust(_LENGTH.size, b"\0"))
    return body[start : start + max(length, 0)]


# ---- readjournal -------------------------------------------------------------------------------------


async def readjournal(shell: ShellContext, options: Namespace) -> int:
    """Print the records of a journal file."""
    if options.journal_file is None:
        shell.out("Must specify a journal file, by its id or its name")
        return FAILED
    directory, journal_id = _journal(shell, options)
    name = journal_name(journal_id)
    path = posixpath.join(directory, name)
    if not shell.world.store.disk.exists(path):
        raise OperandError(f"no {name} in {directory}")
    with closing(shell.world.store.disk.open(path)) as file:
        reader = JournalReader(file, journal_id)
        shell.caption(line("Scan journal", file=name, journalId=journal_id))
        shell.caption(line("Journal Version", journalVersion=reader.version))
        for bodies in reader.records(0):
            position = reader.at
            for body in bodies:
                shell.show(_record(body, len(body), position, options.msg))
                position += _LENGTH.size + len(body)
    return OK


def _journal(shell: ShellContext, options: Namespace) -> tuple[str, int]:
    """Find the journal file that the options name; return its directory and its id.

    :raises OperandError: the directory is unknown, or there are several and the options do not choose one.
    """
    directory, journal_id = file_id(options.journal_file, JOURNAL_SUFFIX)
    if directory:
        return directory, journal_id
    configured = shell.config.journal_directories
    check_exists(shell, configured)
    if options.dir is not None:
        if options.dir not in configured:
            raise OperandError(f"{options.dir} is not a journal directory: {', '.join(configured)}")
        return current(options.dir), journal_id
    if len(configured) > 1:
        raise OperandError(f"several journal directories: name one with -dir: {', '.join(configured)}")
    return current(configured[0]), journal_id


_MESSAGE = Argument(("-m", "msg"), "print their data, see -entryformat", bool)

COMMANDS = (
    Command(
        "readlog", "Print the entries of an entry log", readlog,
        (
            _MESSAGE,
            Argument(("-l", "ledgerid"), "only entries of this ledger", "ledger id"),
            Argument(("-e", "entryid"), "with -ledgerid: only this entry", from_(0)),
            Argument(("-sp", "startpos"), "entries that end behind this offset", from_(0)),
            Argument(("-ep", "endpos"), "entries that begin up to this offset; -1: up to the end", from_(-1)),
            PROGRESS,
            LOG_OPERAND,
        ),
        StoredRecord,
    ),
    Command(
        "readjournal", "Print the records of a journal file", readjournal,
        (
            Argument(("-dir",), "journal directory, needed where there are several"),
            _MESSAGE,
            Argument(("journal_file",), "id of a journal file, decimal, or its name or path"),
        ),
        StoredRecord,
    ),
)  # fmt: skip

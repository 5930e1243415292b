"""The status of a bookie, writable or read-only, which is kept in the file ``BOOKIE_STATUS`` of each ledger directory.

The first line is in Apache's format: ``1,<READ_ONLY|READ_WRITE>,<milliseconds since the epoch>,<true|false>``.  The
last field is ``true`` if an administrator set the status.  Apache's bookie reads only this line; our bookie adds one
line for each reason to be read-only, with a tab and the milliseconds at which it began if these are others than those
of the status.  If the files in several directories differ, the newest one is valid.
"""

import posixpath
import re
from collections.abc import Sequence
from contextlib import closing

import attrs

from .files.replace import replace_file
from .interfaces import IFileSystem

FILE_NAME = "BOOKIE_STATUS"
_MOST_BYTES = 16 * 1024
_DIGITS = re.compile("[0-9]{1,19}")  # longer numbers are invalid, because int() raises an error for very long ones
_NO_TIME = 1 << 63


@attrs.frozen
class BookieStatus:
    """The status of a bookie, as a status file contains it.

    :ivar millis: when the status was set, in milliseconds since the epoch.
    :ivar manual: whether an administrator made the bookie read-only.
    :ivar reasons: why the bookie is read-only, one text for each reason.
    :ivar since: for each reason, when it began, in milliseconds since the epoch; empty if all began with the status.
    """

    read_only: bool = False
    millis: int = 0
    manual: bool = False
    reasons: tuple[str, ...] = ()
    since: tuple[int, ...] = ()

    def began(self, reason: str) -> int:
        """Return when a reason began, in milliseconds since the epoch; of one that is not known, that of the status.

        :param reason: a text, one of the :attr:`reasons`, or the one that a file of Apache's bookie does not name.
        """
        return dict(zip(self.reasons, self.since, strict=False)).get(reason, self.millis)

    def encode(self) -> bytes:
        """Encode the status as the content of a status file."""
        state, manual = "READ_ONLY" if self.read_only else "READ_WRITE", "true" if self.manual else "false"
        began = [(reason, self.began(reason)) for reason in self.reasons]
        reasons = [reason if at == self.millis else f"{reason}\t{at}" for reason, at in began]
        return "".join(f"{line}\n" for line in (f"1,{state},{self.millis},{manual}", *reasons)).encode()

    @classmethod
    def parse(cls, data: bytes) -> "BookieStatus | None":
        """Decode ``data``, the content of a status file; return None if it is invalid.

        A first line with three fields is from an older release; the status then counts as set by an administrator.  The
        time must fit into 64 bits, as in Apache's bookie.
        """
        first, *reasons = data.decode(errors="replace").splitlines() or [""]
        fields = first.strip().split(",")
        if len(fields) not in (3, 4) or fields[0] != "1" or fields[1] not in ("READ_ONLY", "READ_WRITE"):
            return None
        millis = int(fields[2]) if _DIGITS.fullmatch(fields[2]) else _NO_TIME
        if millis >= _NO_TIME:
            return None
        manual = len(fields) == 3 or fields[3] == "true"
        found = [_reason(line, millis) for line in reasons]
        since = tuple(at for _, at in found) if any(at != millis for _, at in found) else ()
        return cls(fields[1] == "READ_ONLY", millis, manual, tuple(reason for reason, _ in found), since)


def _reason(line: str, millis: int) -> tuple[str, int]:
    """Return the reason in a line of a status file, and when it began; without a time, that is ``millis``."""
    reason, tab, text = line.rpartition("\t")
    if not tab or not _DIGITS.fullmatch(text) or int(text) >= _NO_TIME:
        return line, millis
    return reason, int(text)


def load_status(fs: IFileSystem, directories: Sequence[str]) -> BookieStatus:
    """Return the newest status in the ledger ``directories``; return a writable status if no file has one.

    :raises OSError: a status file cannot be read.
    """
    newest = BookieStatus()
    for directory in directories:
        path = posixpath.join(directory, FILE_NAME)
        if not fs.exists(path):
            continue
        with closing(fs.open(path)) as file:
            found = BookieStatus.parse(file.pread(_MOST_BYTES, 0))
        if found is not None and found.millis >= newest.millis:
            newest = found
    return newest


def save_status(fs: IFileSystem, directories: Sequence[str], status: BookieStatus) -> None:
    """Write the status file of every ledger directory that can be written.

    :raises OSError: no status file could be written.
    """
    failures: list[OSError] = []
    for directory in directories:
        try:
            replace_file(fs, posixpath.join(directory, FILE_NAME), status.encode())
        # continue after an error: the status often changes because one disk is full, and the other disks can be written
        except OSError as error:
            failures.append(error)
    if failures and len(failures) == len(directories):
        raise failures[0]

"""Rebuilds the ledger states of an unreadable index: every ledger in the entry logs and journals becomes fenced.

The master keys come from the journals.  If the key record of a ledger is no longer in a journal, the first key that a
client sends for the ledger becomes its key.  Two things are lost: ledgers without entries and without records in a
journal, and the knowledge that a ledger was fenced before it was deleted.
"""

from collections.abc import Callable, Iterator
from contextlib import closing

from ...errors import JournalDamageError
from ...storage.entry_log.scan import ledger_sizes
from ...storage.interfaces import IFileSystem, IndexFactory, LedgerRow
from ...storage.journal.reader import JournalReader
from ...storage.ledger_dirs import DirectoryMap, current, directory_index, entry_log_ids, journal_ids, journal_name
from ...storage.rebuild import Rebuilt, rebuild_index
from ..records import IDS, KEY, trailing_bytes
from .store import StorePaths


def journal_states(
    fs: IFileSystem, paths: StorePaths, advance: Callable[[int], object] = int
) -> dict[int, LedgerRow]:  # fmt: skip
    """Return a new state for each ledger that has records in the journals.

    In this state, the ledger is fenced, and has the last master key that was found for it in the journals.

    :param advance: called with the number of journal bytes read since the last call.
    :raises JournalDamageError: a journal is damaged.
    """
    states: dict[int, LedgerRow] = {}
    for path in paths.journals:
        for body in _records(fs, current(path), advance):
            ledger_id, kind = IDS.unpack_from(body)
            if kind == KEY:
                states[ledger_id] = LedgerRow(ledger_id, trailing_bytes(body) or b"", fenced=True)
            elif ledger_id not in states:
                states[ledger_id] = LedgerRow(ledger_id, b"", fenced=True)
    return states


def _records(fs: IFileSystem, directory: str, advance: Callable[[int], object]) -> Iterator[bytes]:
    """Yield the bodies of all records of a journal, oldest file first; skip unused bytes at the end of a file."""
    for file_id in journal_ids(fs, directory):
        with closing(fs.open(f"{directory}/{journal_name(file_id)}")) as file:
            passed, reader = 0, JournalReader(file, file_id)
            for bodies in reader.records(0):
                advance(reader.at - passed)
                passed = reader.at
                for body in bodies:
                    if len(body) < IDS.size:
                        raise JournalDamageError(f"{file.path}: a record of {len(body)} bytes")
                    yield body
            advance(file.size() - passed)


def directory_map_of_logs(fs: IFileSystem, paths: StorePaths) -> DirectoryMap:
    """Map each ledger found in the entry logs to the ledger directory of its entries.

    :raises DamageError: a log is damaged.
    """
    count = len(paths.ledgers)
    elsewhere: dict[int, int] = {}
    for number, path in enumerate(map(current, paths.ledgers)) if count > 1 else ():
        for log_id in entry_log_ids(fs, path):
            found = ledger_sizes(fs, path, log_id)
            elsewhere |= {ledger: number for ledger in found if directory_index(ledger, count) != number}
    return DirectoryMap(count, elsewhere)


def rebuild_ledgers(
    fs: IFileSystem,
    paths: StorePaths,
    number: int,
    states: dict[int, LedgerRow],
    directory_map: DirectoryMap,
    make_index: IndexFactory,
    advance: Callable[[int], object] = int,
) -> Rebuilt:
    """Rebuild the index of one directory from its entry logs and the given ledger states; the index must be closed.

    :param number: number of the directory in the order of the configuration, from 0.
    :param states: the result of :func:`journal_states`.
    :param directory_map: the result of :func:`directory_map_of_logs`.
    :param advance: called after each entry log with the number of bytes read from it.
    """
    mine = [row for ledger_id, row in sorted(states.items()) if directory_map.of(ledger_id) == number]
    path, index_path = current(paths.ledgers[number]), current(paths.indexes[number])
    return rebuild_index(fs, path, index_path, make_index, advance=advance, states=mine)

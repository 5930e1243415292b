"""Plants in what keeps commits beside a damaged key of the index from hiding rows."""

from .plant import Plant

_TESTS = "tests.storage.index.test_commits_beside_damage."
_RUNS = [_TESTS + "RunTests"]
_LOST = ["tests.storage.index.test_lost_rows"]
_BLOCKS = [_TESTS + "BlockTests"]
_MARKED = [_TESTS + "RunTests.test_marked"]
_RUN_WRITER, _BLOCK_WRITER = "storage/index/run_writer.py", "storage/index/block_writer.py"
_FILE = "storage/index/index_file.py"

PLANTS = (
    Plant(
        "rows are appended beside a damaged row unnoticed", _RUN_WRITER,
        "mark_misled(self._connection)", "pass", _RUNS, where="RunWriter.append",
    ),
    Plant(
        "a row is where it belongs, whatever row is before it", _RUN_WRITER,
        "found != [*zip(sums)]", "False", _RUNS, where="RunWriter.append",
    ),
    Plant(
        "a ledger's last row is remembered although a compaction has put another behind it", _RUN_WRITER,
        "self._ends.pop(row.ledger_id, None)", "pass", [_TESTS + "RunTests.test_moved_last_row"],
        where="RunWriter.insert",
    ),
    Plant(
        "a compaction inserts rows beside a damaged row", _RUN_WRITER,
        "self._verify_places(sorted(inserted))", "pass", [_TESTS + "RunTests.test_compaction"],
        where="RunWriter.insert",
    ),
    Plant(
        "the row before inserted rows is not verified", _RUN_WRITER,
        "row_from(before)", "pass", _RUNS, where="RunWriter._verify_places",
    ),
    Plant(
        "the row behind inserted rows is not verified", _RUN_WRITER,
        "row_from(values)", "pass", _RUNS, where="RunWriter._verify_places",
    ),
    Plant(
        "a row with a damaged key is replaced in place of another", _RUN_WRITER,
        "'DELETE FROM runs WHERE ledger = ? AND first = ? AND crc = ?'",
        "'DELETE FROM runs WHERE ledger = ? AND first = ? AND crc <> -?'", _RUNS, where="",
    ),
    Plant(
        "a deletion removes rows that only seem to be of the ledger", _RUN_WRITER,
        "self._connection.executemany(_DELETE, keys)",
        "self._connection.execute('DELETE FROM runs WHERE ledger = ?', (ledger_id,))",
        [_TESTS + "RunTests.test_deleted_ledgers"], where="RunWriter.delete",
    ),
    Plant(
        "rows are replaced although older ones may not be found", _RUN_WRITER,
        "if self._misled: ...", "if False: ...", _MARKED, where="RunWriter.overlapped",
    ),
    Plant(
        "a flush puts blocks beside a damaged key unnoticed", _BLOCK_WRITER,
        "mark_misled(self._connection)", "pass", _BLOCKS, where="BlockWriter._insert",
    ),
    Plant(
        "a merge puts blocks beside a damaged key", _BLOCK_WRITER,
        "if not despite_damage:\n    raise", "if not despite_damage:\n    return", _BLOCKS,
        where="BlockWriter._insert",
    ),
    Plant(
        "blocks of one set may overlap", "storage/index/stored_blocks.py",
        "found != numbers or overlap", "found != numbers", _BLOCKS, where="StoredBlocks.verify_places",
    ),
    Plant(
        "an index denies what a misled commit may hide", "storage/index/run_index.py",
        "check_not_misled(connection, self.path)", "pass", _MARKED, where="SqliteRunIndex._deny",
    ),
    Plant(
        "an index that may hide rows is opened again", _FILE,
        "check_not_misled(connection, path)", "pass", _MARKED, where="check_structure",
    ),
    Plant(
        "an index that may hide rows is complete", _FILE,
        "_state(connection, 'complete', 1) == 1", "bool(_state(connection, 'complete', 1))", _MARKED,
        where="is_complete",
    ),
    Plant(
        "an index that may hide rows becomes complete", "storage/index/run_index.py",
        "'UPDATE state SET complete = 1 WHERE complete = 0'", "'UPDATE state SET complete = 1'", _MARKED,
        where="SqliteRunIndex._commit",
    ),
    Plant(
        "a damaged state of another ledger is replaced unnoticed", "storage/index/state_writer.py",
        "mark_misled(self._connection)", "pass", [_TESTS + "StateTests"], where="StateWriter._count",
    ),
    Plant(
        "rows that a page lost are not missed", _FILE,
        "check_totals(connection, path, tables)", "pass", _LOST, where="check_structure",
    ),
    Plant(
        "a damaged number of rows is taken for one of an earlier version", _FILE,
        "raise DamageError('the numbers of rows of an index are damaged')", "return None", _LOST, where="read_totals",
    ),
    Plant(
        "a file of an earlier version stays without numbers of rows", _FILE,
        "_add_totals(writer)", "pass", _LOST, where="check_to_open",
    ),
    Plant(
        "an index denies after a check that found damage", "storage/index/run_index.py",
        "self._damage = str(error)", "pass", _LOST, where="SqliteRunIndex.check",
    ),
    Plant(
        "the shell reads a damaged index", "storage/index/run_index.py",
        "check_snapshot(connection, path)", "pass", _LOST, where="SqliteRunIndex.open_to_read",
    ),
    Plant(
        "an undone merge counts blocks", "storage/index/block_writer.py",
        "(before, change)", "(before, self.change)", _BLOCKS, where="BlockWriter._undone_if_damaged",
    ),
    Plant(
        "replaced blocks are counted", "storage/index/block_writer.py",
        "self.change -= 1", "pass", _LOST, where="BlockWriter.replace",
    ),
    Plant(
        "cut rows are counted", "storage/index/run_writer.py",
        "self.change -= len(keys)", "pass", _LOST, where="RunWriter.make_room",
    ),
    Plant(
        "replaced states of ledgers are counted", "storage/index/state_writer.py",
        "len(ledger_ids) - self._count(ledger_ids)", "len(ledger_ids)", _LOST, where="StateWriter.put",
    ),
    Plant(
        "the rest of a moved row is taken for a row of the next ledger", "storage/index/run_index.py",
        "packed if old.ledger_id == row.ledger_id else fresh", "packed", _LOST, where="SqliteRunIndex._move",
    ),
)

"""Plants in ``storage``."""

from .plant import Plant

_JOURNAL = ["tests.storage.journal.test_journal", "tests.storage.journal.test_journal_crash"]

_INDEX = ["tests.storage.index.test_run_index"]

_BLOCKS = ["tests.storage.index.test_blocks"]

_PACKED = ["tests.storage.index.test_blocks.PackedContractTests"]

_EXCHANGE = ["tests.bookie.test_hand_back_crash"]

PLANTS = (
    Plant(
        "the error of a damaged index has several lines", "storage/index/index_file.py",
        'why.removeprefix("*** in database main ***").split()', "[why]", ["tests.storage.index.test_index_file"],
        where="damaged",
    ),
    Plant(
        "an index is made in the place of a lost file", "storage/index/run_index.py",
        "has_lost_file(path)", "False", ["tests.storage.index.test_index_file"], where="SqliteRunIndex.open",
    ),
    Plant(
        "a queue of the kernel that is dropped stays", "storage/files/disk_queue.py",
        "weakref.finalize(self, self._kernel.close)", "self._kernel.close", ["tests.storage.files.test_disk_queue"],
        where="DiskQueue._has_kernel",
    ),
    Plant(
        "a restart finds a commit that failed", "storage/index/run_index.py",
        "self._overwrite()", "pass", ["tests.storage.index.test_failed_commits"], where="SqliteRunIndex.commit",
    ),
    Plant(
        "a commit that failed is written over by nothing", "storage/index/run_index.py",
        "[(1,), (-1,)]", "[(0,), (0,)]", ["tests.storage.index.test_failed_commits"],
        where="SqliteRunIndex._overwrite",
    ),
    Plant(
        "a log is removed although a restart may find that it is needed", "storage/index/run_index.py",
        "if self.in_doubt: ...", "if False: ...", ["tests.storage.index.test_failed_commits"],
        where="SqliteRunIndex.check",
    ),
    Plant(
        "an index whose tables were changed is opened", "storage/index/index_file.py",
        "found != _TABLES", "False", ["tests.storage.index.test_run_index"], where="check_version",
    ),
    Plant(
        "damage of an entry makes those before it unreadable", "storage/entry_log/reader.py",
        "if max_bytes <= 1: ...", "...", ["tests.storage.entry_log.test_reader"], where="EntryLogReader.read",
    ),
    Plant(
        "a row with a damaged key is a missing entry", "storage/index/stored_runs.py",
        "self._check_next(ledger_id, entry_id)", "", _INDEX, where="StoredRuns.find",
    ),
    Plant(
        "a ledger ends before a row with a damaged key", "storage/index/stored_runs.py",
        "len(rows) < limit", "False", _INDEX, where="StoredRuns.rows",
    ),
    Plant(
        "a page begins behind a row with a damaged key", "storage/index/stored_runs.py",
        "self._floor(*after)", "pass", _INDEX, where="StoredRuns.page",
    ),
    Plant(
        "a page passes over a row with a damaged key", "storage/index/stored_runs.py",
        "self._check_place(after[0], rows[-1].first if rows else after[1])", "", _INDEX, where="StoredRuns.page",
    ),
    Plant(
        "a row is committed beside one with a damaged key", "storage/index/stored_runs.py",
        "self._check_next(ledger_id, MAX_ID)", "None", _INDEX, where="StoredRuns.last_entries",
    ),
    Plant(
        "a new row hides one with a damaged key", "storage/index/stored_runs.py",
        "self._check_place(ledger_id, found[-1].first if found else first)", "",
        ["tests.storage.index.test_commits_beside_damage.RunTests"], where="StoredRuns.overlapped",
    ),
    Plant(
        "the rows of an index may be in any order", "storage/index/index_file.py",
        'f"PRAGMA integrity_check({table})"', 'f"PRAGMA quick_check({table})"', _INDEX, where="check_structure",
    ),
    Plant(
        "a file is replaced without a sync", "storage/files/replace.py",
        "file.sync(metadata=True)", "pass", ["tests.storage.files.test_replace"], where="replace_file",
    ),
    Plant(
        "a replaced file's directory is not synced", "storage/files/replace.py",
        "fs.sync_directory(posixpath.dirname(path))", "pass", ["tests.storage.files.test_replace"],
        where="replace_file",
    ),
    Plant(
        "the highest log mark of the directories is taken", "storage/journal/log_mark.py",
        "min(valid, default=JournalPosition())", "max(valid, default=JournalPosition())",
        ["tests.storage.journal.test_log_mark"], where="read_log_mark",
    ),
    Plant(
        "a new journal file follows one that is not durable", "storage/journal/journal.py",
        "if old is not None and self.durable != self.position:\n    self._sync(old)", "", _JOURNAL,
        where="Journal._next_file",
    ),
    Plant(
        "a start relies on the name of a journal file that may not be durable", "storage/journal/replay.py",
        "ids and ids[-1] > log_mark.file_id and self._is_empty(ids[-1])", "False",
        ["tests.bookie.test_failed_sync_crash.FailedSyncTests.test_names"], where="JournalReplay.records",
    ),
    Plant(
        "a torn row passes for a row", "storage/index/row_values.py",
        "_crc(row) == values[7] and row.first <= row.last", "row.first <= row.last", _INDEX, where="row_from",
    ),
    # -- Apache's index --
    Plant(
        "an import removes the databases before the cookies are exchanged", "storage/apache/importing.py",
        "return imported", "fs.unlink(index_directory + '/locations/CURRENT')\nreturn imported", _EXCHANGE,
        where="import_index",
    ),
    Plant(
        "an entry that is not in its place is denied", "storage/apache/locations.py",
        "yield log_id, size > 0, Record(ledger_id, entry_id, at, size or _HEAD.size)",
        "if size:\n    yield (log_id, size > 0, Record(ledger_id, entry_id, at, size or _HEAD.size))",
        ["tests.storage.apache.test_importing"], where="_places",
    ),
    Plant(
        "databases of Apache's bookie pass for left over", "storage/apache/take_over.py",
        "if is_apaches(fs, directories):\n    return", "", ["tests.bookie.lifecycle.test_take_over"],
        where="discard_left_over",
    ),
    Plant(
        "cookies are exchanged before the databases are there", "bookie/lifecycle/hand_back.py",
        "self._replay()", "self._replay()\nstamp_for_apache(self.fs, self.paths.all())", _EXCHANGE,
        where="HandBack.run",
    ),
    Plant(
        "an export goes on with the databases of an older one", "storage/apache/exporting.py",
        "discard_index(fs, index_directory)", "", ["tests.storage.apache.test_exporting"], where="export_index",
    ),
    Plant(
        "ours is gone before Apache's cookie is there", "storage/cookies.py",
        "for directory in directories: ...\nfor directory in directories:\n"
        "    if fs.exists(_cookie_path(directory)):\n        fs.unlink(_cookie_path(directory))\n"
        "        fs.sync_directory(current(directory))",
        "for directory in directories:\n    ...\n"
        "    fs.unlink(_cookie_path(directory))\n    fs.sync_directory(current(directory))",
        ["tests.storage.test_cookies"], where="stamp_for_apache",
    ),
    # -- the index --
    Plant(
        "commits of the index are not synced", "storage/index/index_file.py",
        '"synchronous = FULL"', '"synchronous = OFF"', _INDEX, where="connect",
    ),
    Plant(
        "commits of the index are synced when they are moved", "storage/index/index_file.py",
        '"synchronous = FULL"', '"synchronous = NORMAL"', _INDEX, where="connect",
    ),
    Plant(
        "an index denies what it does not find before it is checked", "storage/index/run_index.py",
        "self._unchecked is not None", "False", _INDEX, where="SqliteRunIndex._deny",
    ),
    Plant(
        "an index that is not checked yet tells where a ledger ends", "storage/index/run_index.py",
        "if len(rows) < _PAGE:\n    self._deny(connection)", "", _INDEX, where="SqliteRunIndex._rows",
    ),
    Plant(
        "an index is checked as commits have left it", "storage/index/run_index.py",
        "self._structure.run(unchecked)", "self._structure.run(self._writer)", _INDEX, where="SqliteRunIndex._check",
    ),
    Plant(
        "the states of ledgers are read before they are checked", "storage/index/index_file.py",
        '("ledgers", "state")', '("state",)', _INDEX, where="",
    ),
    Plant(
        "sizes are stored in fewer bytes than they need", "storage/index/row_values.py",
        "max(each) - least < 1 << 8", "max(each) - least <= 1 << 8", ["tests.storage.index.test_row_values"],
        where="_narrowed",
    ),
    Plant(
        "sizes that take no less room are stored in another form", "storage/index/row_values.py",
        "_LEAST.size + width * count >= len(sizes)", "_LEAST.size + width * count > len(sizes)",
        ["tests.storage.index.test_row_values"], where="_narrowed",
    ),
    Plant(
        "a damaged last row is no row", "storage/index/stored_runs.py",
        "row = self._floor(ledger_id, MAX_ID)",
        "try:\n    row = self._floor(ledger_id, MAX_ID)\n"
        "except Exception:\n    return {}",
        _INDEX, where="StoredRuns.last_entries",
    ),
    Plant(
        "the last entry is taken from a row unseen", "storage/index/stored_runs.py",
        "row_from(values)", "IndexRow(*values[:7])", _INDEX, where="StoredRuns._floor",
    ),
    Plant(
        "what lies behind the place of an entry is not verified", "storage/index/stored_blocks.py",
        "for set_id in at_ends:\n    self._behind(set_id, key)", "", _BLOCKS, where="StoredBlocks._search",
    ),
    Plant(
        "what lies behind the last entry of a ledger is not verified", "storage/index/stored_blocks.py",
        "if not behind:\n    self._behind(block_set.set_id, key)", "", _BLOCKS, where="StoredBlocks.last_entry",
    ),
    Plant(
        "a look-up denies what is not where it expected it", "storage/index/stored_blocks.py",
        "likely or others", "likely", _BLOCKS, where="StoredBlocks._search",
    ),
    Plant(
        "the target of a merge is put behind the newest rows", "storage/index/block_writer.py",
        "self.block_sets.insert(self.block_sets.index(sources[0]), target)", "self.block_sets.append(target)",
        _BLOCKS, where="BlockWriter._target",
    ),
    Plant(
        "a listing goes on behind a damaged block", "storage/index/stored_blocks.py",
        "self.floor(set_id, key)", "", _BLOCKS, where="StoredBlocks.following",
    ),
    Plant(
        "a damaged block hides what other block sets hold", "storage/index/stored_blocks.py",
        "damage = error\ncontinue", "raise error", _BLOCKS, where="StoredBlocks._search",
    ),
    Plant(
        "a damaged block is an empty one", "storage/index/stored_blocks.py",
        "if damage is not None:\n    raise damage", "", _BLOCKS, where="StoredBlocks._search",
    ),
    Plant(
        "a commit fails for a damaged block of others", "storage/index/block_writer.py",
        "continue", "raise", _BLOCKS, where="BlockWriter.last_entries",
    ),
    Plant(
        "ledgers behind a new one are taken for new ones", "storage/index/stored_runs.py",
        "bisect_left(ledger_ids, behind.ledger_id, index + 1)", "len(ledger_ids)", _BLOCKS,
        where="StoredRuns.last_entries",
    ),
    Plant(
        "ledgers of blocks behind a new one are taken for new ones", "storage/index/block_writer.py",
        'bisect_left(ledger_ids, int.from_bytes(behind[:8], "big"), index) if behind else len(ledger_ids)',
        'bisect_left(ledger_ids, int.from_bytes(behind[:8], "big"), index) if False else len(ledger_ids)', _BLOCKS,
        where="BlockWriter.last_entries",
    ),
    Plant(
        "a block that a damaged key hides is taken for removed", "storage/index/block_writer.py",
        "self._connection.execute(statement, values).rowcount != 1",
        "self._connection.execute(statement, values).rowcount > 1",
        ["tests.storage.index.test_commits_beside_damage.BlockTests"],
        where="BlockWriter.replace",
    ),
    Plant(
        "a merge fails for a damaged block", "storage/index/block_writer.py",
        "self._connection.execute('ROLLBACK TO part')", "raise", _BLOCKS, where="BlockWriter._undone_if_damaged",
    ),
    Plant(
        "a merge forgets what it cut off a block", "storage/index/block_writer.py",
        "rows[end:]", "()", [*_BLOCKS, *_PACKED], where="BlockWriter._remove_rows_up_to",
    ),
    Plant(
        "merged rows come before their time", "storage/index/block_writer.py",
        'min(ends, default=b"\\xff")', 'max(ends, default=b"\\xff")', [*_BLOCKS, *_PACKED],
        where="BlockWriter._merge_step",
    ),
    Plant(
        "a merge is added to the target of one that ended", "storage/index/block_writer.py",
        "self._change(each, WHOLE)", "pass", _BLOCKS, where="BlockWriter._sources",
    ),
    Plant(
        "a merge is made by the commit that begins it", "storage/index/block_writer.py",
        "n_rows > 0 and (sources := self._sources(level))", "(sources := self._sources(level))", _BLOCKS,
        where="BlockWriter._merge",
    ),
    Plant(
        "some rows of a ledger are packed and others are not", "storage/index/rows.py",
        "long = {row.ledger_id for row in rows if not can_be_packed(row)}",
        "long = set()\nrows = [row for row in rows if can_be_packed(row)]", ["tests.storage.index.test_rows"],
        where="packed_where_many",
    ),
    Plant(
        "packed rows of a flush are not in order", "storage/mixed_rows.py",
        "sorted(chain.from_iterable(rows.packed for rows in mixed))",
        "list(chain.from_iterable(rows.packed for rows in mixed))", ["tests.storage.index.test_recent_blocks"],
        where="packed_of",
    ),
    Plant(
        "packed rows of runs are not committed", "storage/directory_storage.py",
        "batch.mixed += short", "", ["tests.storage.test_directory_storage"], where="DirectoryStorage._append",
    ),
    Plant(
        "memory looks through the rows of any number of flushes", "storage/index/recent_blocks.py",
        "self._flushes[: MOST_FLUSHES - 1]", "self._flushes", ["tests.storage.index.test_recent_blocks"],
        where="RecentBlocks.add",
    ),
    Plant(
        "packed rows that replace stored ones are added beside them", "storage/index/run_index.py",
        "list(map(le, rows.first_ids, before))", "[False] * len(rows)", [*_BLOCKS, *_PACKED],
        where="SqliteRunIndex._put_mixed",
    ),
    Plant(
        "rows in blocks are not trimmed", "storage/index/run_index.py",
        "self._stored.insert(blocks.take_out_older(late))", "pass", [*_BLOCKS, *_PACKED], where="SqliteRunIndex._put",
    ),
    Plant(
        "copies do not take the place of rows in blocks", "storage/index/run_index.py",
        "sorted(stored + packed)", "stored", [*_BLOCKS, *_PACKED], where="SqliteRunIndex._move",
    ),
    Plant(
        "what a copy leaves of a packed row is lost", "storage/index/run_index.py",
        "fresh += [part for part in left if part.last < row.first]", "", [*_BLOCKS, *_PACKED],
        where="SqliteRunIndex._move",
    ),
    Plant(
        "the rows of a deleted ledger stay in blocks", "storage/index/run_index.py",
        "blocks.delete(ledger_ids)", "", [*_BLOCKS, *_PACKED], where="SqliteRunIndex._delete",
    ),
    Plant(
        "recent packed rows outlive what replaces them", "storage/index/recent_blocks.py",
        "self._hidden.add(ledger_id)", "pass", ["tests.storage.index.test_recent_blocks"], where="_Flush.hide",
    ),
    Plant(
        "recent packed rows outlive their log", "storage/index/recent_index.py",
        "self._blocks.discard_logs(moved_from)", "", ["tests.storage.index.test_recent_index"],
        where="RecentIndex.discard_moved",
    ),
    Plant(
        "keys of deleted ledgers stay in memory", "storage/ledger_states.py",
        "len(self._keys) > 2 * len(self._rows) + _SPARE_KEYS", "False", ["tests.storage.test_ledger_states"],
        where="LedgerStates.forget",
    ),
    Plant(
        "single records that are all of a row are not verified", "storage/entry_log/reader.py",
        "checksum is None or crc32c_of_bytes(data) == checksum", "True",
        ["tests.storage.test_ledger_storage_contract.PageCacheTests.test_striped_ledger_is_found"],
        where="_good_records",
    ),
    Plant(
        "records that are all of their rows are not verified together", "storage/entry_log/reader.py",
        "found == checksums or checksums.count(None) == len(checksums)", "True",
        ["tests.storage.test_ledger_storage_contract.PageCacheTests.test_striped_ledger_is_found"],
        where="_good_records",
    ),
    Plant(
        "rows that follow a row are those of the next ledgers, too", "storage/index/stored_blocks.py",
        "block.last[:8] != key[:8]", "False", _PACKED, where="StoredBlocks.rows_ahead",
    ),
    Plant(
        "rows of a striped ledger are looked up one by one", "storage/index/looked_up.py",
        "0 < row.first - before.last <= _NEAR", "row.first - before.last == 1",
        ["tests.storage.test_directory_storage"], where="LastSearches._rows_ahead",
    ),
    Plant(
        "an entry that is not there costs a look-up of all rows behind it", "storage/index/looked_up.py",
        "if row is None: ...\nfound = self._rows_ahead(row)",
        "found = self._rows_ahead(row or IndexRow(ledger_id, entry_id, entry_id, 0, 0, 0))\nif row is None: ...",
        ["tests.storage.test_directory_storage"], where="LastSearches.search",
    ),
    Plant(
        "a look-up of an entry before the last ones ends what was looked up together", "storage/index/looked_up.py",
        "row.last - row.first < MOST_APART and is_onward", "row.last - row.first < MOST_APART",
        ["tests.storage.test_directory_storage"], where="LastSearches.search",
    ),
)  # fmt: skip

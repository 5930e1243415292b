"""Plants in entry logs, caches, checkpoints and ledger states."""

from .plant import Plant

_WRITER = ["tests.storage.entry_log.test_writer"]
_READER = ["tests.storage.entry_log.test_reader"]
_SCAN = ["tests.storage.entry_log.test_scan", "tests.storage.entry_log.test_format"]
_CACHE = ["tests.storage.cache.test_cache"]
_COLUMNS = ["tests.storage.cache.test_mixed_entries", *_CACHE]
_ROWS = ["tests.storage.index.test_rows", "tests.storage.index.test_recent_rows"]
_INDEX = ["tests.storage.index.test_run_index"]
_STORAGE = [
    "tests.storage.test_directory_storage",
    "tests.storage.test_ledger_storage",
    "tests.storage.test_checkpoint",
]
_REBUILD = ["tests.storage.test_rebuild"]

PLANTS = (
    Plant(
        "a log's ledgers map is pointed to before it is written", "storage/entry_log/writer.py",
        "self.file.pwrite(layout.encode_map(self._ledgers), self.position)\nself.file.sync()\n"
        "self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))",
        "self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))\nself.file.sync()\n"
        "self.file.pwrite(layout.encode_map(self._ledgers), self.position)",
        _WRITER, where="OpenLog.seal",
    ),
    Plant(
        "a log's ledgers map is not synced before the pointer to it", "storage/entry_log/writer.py",
        "self.file.pwrite(layout.encode_map(self._ledgers), self.position)\nself.file.sync()",
        "self.file.pwrite(layout.encode_map(self._ledgers), self.position)", _WRITER, where="OpenLog.seal",
    ),
    Plant(
        "the bytes of a failed sync count for the map", "storage/entry_log/writer.py",
        "self._unsynced = []", "", _WRITER, where="OpenLog.cut_back",
    ),
    Plant(
        "a log is cut back to what was written", "storage/entry_log/writer.py",
        "self.position = self.written = self.synced\nself.file.truncate(self.synced)",
        "self.position = self.written\nself.file.truncate(self.written)", _WRITER, where="OpenLog.cut_back",
    ),
    Plant(
        "a log goes on after a failed sync", "storage/entry_log/writer.py",
        "error.errno in NO_SPACE and log.written != log.position", "log.written != log.position", _WRITER,
        where="EntryLogWriter._failed",
    ),
    Plant(
        "a failed sync for want of room is cut back and repeated", "storage/entry_log/writer.py",
        "error.errno in NO_SPACE and log.written != log.position", "error.errno in NO_SPACE", _WRITER,
        where="EntryLogWriter._failed",
    ),
    Plant(
        "log ids may be given twice", "storage/entry_log/writer.py",
        'replace_file(self._fs, posixpath.join(self._directory, _LAST_ID), f"{log_ids[-1]:x}\\n".encode())', "",
        _WRITER, where="EntryLogWriter._take_ids",
    ),
    Plant(
        "a new log's name is not durable", "storage/entry_log/writer.py",
        "fs.sync_directory(posixpath.dirname(path))", "", _WRITER, where="create_log",
    ),
    Plant(
        "a log that could not be made is left behind", "storage/entry_log/writer.py",
        "_remove_quietly(fs, path)", "", _WRITER, where="create_log",
    ),
    Plant(
        "a log may be a run longer than its limit", "storage/entry_log/writer.py",
        "log.position + size", "log.position", _WRITER, where="EntryLogWriter._is_full",
    ),
    Plant(
        "the next log id wraps to one in use", "storage/entry_log/writer.py",
        "not self._fs.exists(self._path(self._next_id))", "True", _WRITER, where="EntryLogWriter._take_ids",
    ),
    Plant(
        "the end of a log's last block is not filled", "storage/entry_log/writer.py",
        "-self.position % BLOCK", "-self.position % 512", _WRITER, where="OpenLog._write_rest",
    ),
    Plant(
        "filler could be the beginning of a size", "storage/entry_log/format.py",
        'b"\\xf0"', 'b"\\x70"', [*_WRITER, *_SCAN], where="",
    ),
    Plant(
        "a file is left open where its row does not have the entry", "storage/entry_log/reader.py",
        "try: ...\nexcept BaseException as e: ...", "try: ...\nexcept (OSError, DamageError) as e: ...", _READER,
        where="EntryLogReader.read_resident",
    ),
    Plant(
        "a short read of a log passes", "storage/entry_log/reader.py",
        "len(data) != size", "not data", _READER, where="EntryLogReader.read_slice",
    ),
    Plant(
        "records are not compared with their row", "storage/entry_log/reader.py",
        "not _is_run(run)", "False", _READER, where="EntryLogReader.read_slice",
    ),
    Plant(
        "sizes of records are not compared with their row", "storage/entry_log/reader.py",
        "run.ids_match() and _sizes_match(run)", "run.ids_match()", _READER, where="_is_run",
    ),
    Plant(
        "checksums of blocks are not compared", "storage/entry_log/reader.py",
        "bad is not None", "False", _READER, where="EntryLogReader.read_slice",
    ),
    Plant(
        "memory's records are not compared with their row", "storage/entry_log/reader.py",
        "if run.count > 1 and (not _is_run(run)):\n    return None", "", _READER,
        where="EntryLogReader.read_resident",
    ),
    Plant(
        "memory's blocks are not compared with their checksums", "storage/entry_log/reader.py",
        "run if not whole or first_bad_block(row, offsets[-1], start, data) is None else None", "run", _READER,
        where="EntryLogReader.read_resident",
    ),
    Plant(
        "single records are taken from memory unseen", "storage/entry_log/reader.py",
        "data is not None and data.startswith(head)", "data is not None", _READER, where="_good_records",
    ),
    Plant(
        "the ids of records that are read together are not compared", "storage/entry_log/reader.py",
        "all(datas) and all(map(bytes.startswith, cast(list[bytes], datas), heads))", "all(datas)", _READER,
        where="_good_records",
    ),
    Plant(
        "a log that is missing is an error of the disk", "storage/entry_log/reader.py",
        "try: ...\nexcept FileNotFoundError as e: ...", "try: ...\nexcept ZeroDivisionError as e: ...", _READER,
        where="EntryLogReader._file",
    ),
    Plant(
        "a file that failed is used again", "storage/entry_log/reader.py",
        "file.close()", "self._idle.put_back(row.log_id, file)", _READER, where="EntryLogReader._file",
    ),
    Plant(
        "files over the limit stay open", "storage/entry_log/reader.py",
        "len(self._idle) > self.limit", "False", _READER, where="IdleLogs.put_back",
    ),
    Plant(
        "a torn record ends a scan silently", "storage/entry_log/scan.py",
        "self.torn_at = at", "", _SCAN, where="LogScan._records",
    ),
    Plant(
        "a scan passes over the head of a size behind zeros", "storage/entry_log/scan.py",
        'len(rest) - len(rest.lstrip(b"\\0")) - 3', 'len(rest) - len(rest.lstrip(b"\\0"))', _SCAN,
        where="_Window.skip_padding",
    ),
    Plant(
        "a map that lacks ledgers passes", "storage/entry_log/format.py",
        "sizes if sizes and len(sizes) == ledgers else None", "sizes or None", _SCAN, where="decode_map",
    ),
    Plant(
        "an older copy covers a newer one", "storage/cache/run_list.py",
        "runs[low:high] = come", "runs[low:high] = gone or come", _CACHE, where="RunList.insert",
    ),
    Plant(
        "the rest behind a newer copy is lost", "storage/cache/run_list.py",
        "gone and gone[-1].last > run.last", "len(gone) > 1 and gone[-1].last > run.last", _CACHE,
        where="RunList.insert",
    ),
    Plant(
        "single entries go before their runs are there", "storage/cache/write_cache.py",
        "for run in self._mixed.runs(ledger_id): ...",
        "single = self._mixed.runs(ledger_id)\nself._mixed.take_out(ledger_id)\nfor run in single: ...", _CACHE,
        where="WriteCache._make_runs",
    ),
    Plant(
        "a run is put over single entries that are newer", "storage/cache/write_cache.py",
        "run.first <= self._mixed.last(run.ledger_id)", "run.last < self._mixed.last(run.ledger_id)", _CACHE,
        where="WriteCache._insert",
    ),
    Plant(
        "a flush leaves out the single entries of a ledger that has runs", "storage/cache/write_cache.py",
        "sorted([*runs, *single], key=lambda run: run.first) if single else runs",
        "sorted([*runs, *single], key=lambda run: run.first) if not runs else runs", _CACHE,
        where="WriteCache._all_runs",
    ),
    Plant(
        "an entry that is written again is added to the columns", "storage/cache/mixed_entries.py",
        "ids[before] >= entry_id", "ids[before] > entry_id", _COLUMNS, where="MixedEntries.add",
    ),
    Plant(
        "an entry passes one of its ledger that was left", "storage/cache/mixed_entries.py",
        "ledger_id in refused or (ledger_id in runs and runs[ledger_id].last >= entry_id)",
        "ledger_id in runs and runs[ledger_id].last >= entry_id", _COLUMNS, where="MixedEntries.add",
    ),
    Plant(
        "a flush leaves the last single entries out", "storage/cache/mixed_entries.py",
        "for ledger_id in ascending([ledger_id for ledger_id in self.ledger_ids() if ledger_id not in "
        "but]): ...\nyield from self._parts(positions)",
        "for ledger_id in ascending([ledger_id for ledger_id in self.ledger_ids() if ledger_id not in but]): ...",
        _COLUMNS, where="MixedEntries.in_order",
    ),
    Plant(
        "a flush goes over all entries of a ledger by one call", "storage/cache/mixed_entries.py",
        "for at in range(0, len(positions), 2 * PART):\n    yield self._at(positions[at:at + 2 * PART])",
        "if positions:\n    yield self._at(positions)", _COLUMNS, where="MixedEntries._parts",
    ),
    Plant(
        "many ledgers are not written in order", "storage/cache/mixed_entries.py",
        "parts[0] if parts else []", "unsorted", _COLUMNS, where="ascending",
    ),
    Plant(
        "the first refusal of a chunk is not looked at for what follows", "storage/cache/mixed_entries.py",
        "checked = True", "", _COLUMNS, where="MixedEntries.add",
    ),
    Plant(
        "single entries with a gap become one run", "storage/cache/mixed_entries.py",
        "ids[positions[-1]] - ids[positions[0]] != len(positions) - 1", "ids[positions[-1]] - ids[positions[0]] < 0",
        _COLUMNS, where="MixedEntries.runs",
    ),
    Plant(
        "a flush that begins with runs leaves single entries out when ledgers go", "storage/cache/write_cache.py",
        "not dense", "not self._mixed.is_dense", _CACHE, where="WriteCache.parts",
    ),
    Plant(
        "a reader behind a writer goes over all its entries each time", "storage/cache/mixed_entries.py",
        "fresh = self._positions(newest, known)", "fresh = self._positions(newest)\ndel view.positions[:]", _COLUMNS,
        where="MixedEntries.view",
    ),
    Plant(
        "the newest single entry is given for any later one", "storage/cache/mixed_entries.py",
        "if newest < 0 or self._entry_ids[newest] < entry_id: ...\nif self._entry_ids[newest] == entry_id: ...",
        "if newest < 0: ...\nif self._entry_ids[newest] <= entry_id: ...", _COLUMNS, where="MixedEntries.find",
    ),
    Plant(
        "runs of two ledgers become one row", "storage/cache/mixed_entries.py",
        "map(or_, map(ne, ledger_ids[1:], ledger_ids), map(ne, entry_ids[1:], expected))",
        "map(ne, entry_ids[1:], expected)", _COLUMNS, where="_starts",
    ),
    Plant(
        "what readers of single entries take is not counted", "storage/cache/mixed_entries.py",
        "self.cost += VIEW_OVERHEAD", "", _CACHE, where="MixedEntries.view",
    ),
    Plant(
        "the checksums of long single entries are those of short ones", "storage/index/rows.py",
        "max(map(len, records)) > CHECKSUM_BLOCK", "False", _WRITER, where="mixed_rows_of",
    ),
    Plant(
        "runs of single entries are taken for entries alone", "storage/index/rows.py",
        "len(entries.starts) < len(entries)", "False", _WRITER, where="mixed_rows_of",
    ),
    Plant(
        "a long run of several sizes is many rows", "storage/index/rows.py",
        "max(map(sub, bounds[1:], bounds)) > MOST_APART", "False", _WRITER, where="mixed_rows_of",
    ),
    Plant(
        "single entries of several sizes are taken for even ones", "storage/index/rows.py",
        "isinstance(offsets, range)", "True", _WRITER, where="mixed_rows_of",
    ),
    Plant(
        "the cost of ledgers is not counted", "storage/cache/write_cache.py",
        "self._run_bytes + self._runs * RUN_OVERHEAD + len(self._ledgers) * LEDGER_OVERHEAD",
        "self._run_bytes + self._runs * RUN_OVERHEAD", _CACHE, where="WriteCache.cost",
    ),
    Plant(
        "the read cache keeps what was written anew", "storage/cache/read_cache.py",
        "while runs is not None and runs.overlaps(first, last): ...",
        "if runs is not None and runs.overlaps(first, last): ...", _CACHE, where="ReadCache.discard",
    ),
    Plant(
        "a large run is copied for its neighbours", "storage/cache/write_cache.py",
        "run.size if run.size < LARGE_RUN else max_bytes", "run.size", _CACHE, where="WriteCache._joined",
    ),
    Plant(
        "the complete blocks of a run are copied", "storage/entry_log/writer.py",
        "memoryview(last)[:-left]", "last[:-left]", ["tests.storage.entry_log.test_writer"], where="OpenLog._write_out",
    ),
    Plant(
        "a joined run is as long as it gets", "storage/cache/write_cache.py",
        "run.first != group[-1].last + 1 or size > max_bytes or count > max_entries",
        "run.first != group[-1].last + 1", _CACHE, where="WriteCache._joined",
    ),
    Plant(
        "runs with a gap are joined", "storage/cache/write_cache.py",
        "run.first != group[-1].last + 1", "run.first < group[-1].last",
        ["tests.storage.cache.test_cache.WriteCacheTests.test_gap"], where="WriteCache._joined",
    ),
    Plant(
        "an entry in the middle of a row is lost when it is cut", "storage/index/rows.py",
        "last + 1", "last + 2", _ROWS, where="without",
    ),
    Plant(
        "the last short block of a row is not compared", "storage/index/rows.py",
        "len(row.checksums) // 4", "total // CHECKSUM_BLOCK", _ROWS, where="first_bad_block",
    ),
    Plant(
        "the first whole block of a slice is not compared", "storage/index/rows.py",
        "-(-start // CHECKSUM_BLOCK)", "start // CHECKSUM_BLOCK + 1", _ROWS, where="first_bad_block",
    ),
    Plant(
        "a cut row keeps its checksums", "storage/index/rows.py",
        'row._replace(first=first, last=last, offset=offset, checksums=b"")',
        "row._replace(first=first, last=last, offset=offset)", _ROWS, where="cut",
    ),
    Plant(
        "the rows of many ledgers count as those of one", "storage/index/recent_rows.py",
        "COMMIT_OVERHEAD + sum(map(cost_of, rows))", "sum(map(cost_of, rows))", _ROWS, where="RecentRows.add",
    ),
    Plant(
        "recent rows outlive a commit that is too big for them", "storage/index/recent_rows.py",
        "self._ledgers.clear()", "", _ROWS, where="RecentRows.add",
    ),
    Plant(
        "recent rows hide newer ones", "storage/index/recent_rows.py",
        "held = held.replaced(rows)", "pass", _ROWS, where="RecentRows.add",
    ),
    Plant(
        "recent rows are taken for older ones that lie above", "storage/index/recent_rows.py",
        "held and held[-1].last < rows[0].first", "held", _ROWS, where="SortedRows.joined",
    ),
    Plant(
        "recent rows of a ledger that is written on and on are one piece", "storage/index/recent_rows.py",
        "held[-1].last < rows[0].first and len(held) + len(rows) <= MOST_TOGETHER", "held[-1].last < rows[0].first",
        _ROWS, where="SortedRows.joined",
    ),
    Plant(
        "a commit that goes takes newer rows along", "storage/index/recent_rows.py",
        "all(map(is_, rows, chain(held, (None,))))", "True", _ROWS, where="SortedRows.without",
    ),
    Plant(
        "a change of recent rows copies all rows of its ledger", "storage/index/recent_rows.py",
        "len(rows) <= MOST_TOGETHER", "True", _ROWS, where="_chunks",
    ),
    Plant(
        "rows that reach into the next chunk hide what is newer there", "storage/index/recent_rows.py",
        "max(bisect_right(self._starts, last), low + 1)", "low + 1", _ROWS, where="SortedRows._changed",
    ),
    Plant(
        "a failed commit leaves its transaction open", "storage/index/run_index.py",
        "if self._writer.in_transaction:\n    execute('ROLLBACK')", "", _INDEX, where="SqliteRunIndex._commit",
    ),
    Plant(
        "a row that touches its neighbour is taken for one that overlaps it not", "storage/index/run_index.py",
        "first <= before", "first < before", _INDEX, where="SqliteRunIndex._put",
    ),
    Plant(
        "rows that wait for one call are passed over by one that replaces them", "storage/index/run_index.py",
        "self._stored.append(rows[begin:index])", "", _INDEX, where="SqliteRunIndex._put",
    ),
    Plant(
        "the ends of ledgers that a commit needs are forgotten", "storage/index/run_index.py",
        "fresh = set(chain.from_iterable(columns))", "", _INDEX, where="SqliteRunIndex._learn",
    ),
    Plant(
        "a full disk is any failure of the index", "storage/index/index_file.py",
        "code in _FULL", "False", [*_INDEX, *_STORAGE], where="storage_errors",
    ),
    Plant(
        "an index of a later release is opened", "storage/index/index_file.py",
        "version != SCHEMA_VERSION", "version < SCHEMA_VERSION", _INDEX, where="check_version",
    ),
    Plant(
        "logs are indexed before they are synced", "storage/directory_storage.py",
        "self.log.sync()", "", _STORAGE, where="DirectoryStorage.write",
    ),
    Plant(
        "older copies cover newer ones after a failed flush", "storage/directory_storage.py",
        "self.flushing.absorb(self.active)\nself.active, self.flushing = self.flushing, WriteCache()",
        "self.active.absorb(self.flushing)\nself.flushing = WriteCache()", _STORAGE,
        where="DirectoryStorage.not_written",
    ),
    Plant(
        "the flushing cache hides the active one", "storage/directory_storage.py",
        "if held is not None or not self.flushing.count:\n    return held\n"
        "held = self.flushing.find(ledger_id, entry_id, max_count)",
        "held = self.flushing.find(ledger_id, entry_id, max_count) or held", _STORAGE,
        where="DirectoryStorage.cached",
    ),
    Plant(
        "a row looked up before a newer copy was written is kept", "storage/directory_storage.py",
        "n_written == self._n_written", "True", _STORAGE, where="DirectoryStorage.add_looked_up_rows",
    ),
    Plant(
        "damage is not looked for again in the index", "storage/directory_storage.py",
        "now == row", "True", _STORAGE, where="DirectoryStorage.load",
    ),
    Plant(
        "a fence that was not stored is forgotten", "storage/ledger_states.py",
        "self._dirty.update(i for i in ids if i in self._rows or i in self._forgotten)", "pass",
        ["tests.storage.test_ledger_states", *_STORAGE], where="LedgerStates.not_stored",
    ),
    Plant(
        "an incomplete index is taken for complete", "storage/ledger_storage.py",
        "logs_with_data(fs, path)", "False", _STORAGE, where="_open_index",
    ),
    Plant(
        "ledgers move when a directory joins", "storage/ledger_dirs.py",
        "self.elsewhere.get(ledger_id, ledger_id % self.count)", "ledger_id % self.count",
        ["tests.storage.test_directory_map"], where="DirectoryMap.of",
    ),
    Plant(
        "a ledger in two directories passes", "storage/ledger_storage.py",
        "row.ledger_id in stored", "False", ["tests.storage.test_directory_map"], where="_stored_ledgers",
    ),
    Plant(
        "an index may get another ledger directory", "codec/metadata_formats/cookie.py",
        "self._pairs >= stored._pairs", "True", ["tests.codec.metadata_formats.test_cookie"], where="Cookie.verify",
    ),
    Plant(
        "the read cache keeps an older copy", "storage/ledger_storage.py",
        "self._read_cache.discard(entries)", "", _STORAGE, where="LedgerStorage.add",
    ),
    Plant(
        "two checkpoints at once", "storage/ledger_storage.py",
        "if self._in_checkpoint:\n    return None", "", _STORAGE, where="LedgerStorage.begin_checkpoint",
    ),
)  # fmt: skip

"""Plants in what makes every read give the newest copy of an entry."""

from .plant import Plant

_LIVES = ["tests.storage.test_ledger_storage_contract"]
_LOOKED_UP = "storage/index/looked_up.py"
_REBUILT = ["tests.bookie.maintenance.test_rebuilt_copies"]
_LOOK_UPS = ["tests.storage.index.test_looked_up"]
_SCATTERED_MODULE, _SCATTERED = "storage/index/scattered.py", ["tests.storage.index.test_scattered"]
_BLOCKS = ["tests.storage.index.test_blocks"]
_RECENT = ["tests.storage.index.test_recent_index"]

PLANTS = (
    Plant(
        "a full reply leaves an entry log without records to read", _SCATTERED_MODULE,
        "{log_id: records for log_id, records in kept.items() if records.positions}", "kept",
        ["tests.bookie.requests.test_read_processor"], where="Lookup._stop_after",
    ),
    Plant(
        "rows that were packed stay in the index beside newer ones", "storage/index/run_index.py",
        "self._stored.insert(blocks.take_out_older(late))", "pass", _LIVES, where="SqliteRunIndex._put",
    ),
    Plant(
        "a ledger whose end is damaged is taken for a new one", "storage/index/block_writer.py",
        "found[ledger_id] = max(self.last_intact(block_set.set_id, ledger_id), found.get(ledger_id, -1))", "", _BLOCKS,
        where="BlockWriter.last_entries",
    ),
    Plant(
        "older copies beside a damaged block stay", "storage/index/block_writer.py",
        "self._cut_intact(block_set.set_id, ordered) if cut is None else cut", "cut or []", _BLOCKS,
        where="BlockWriter.take_out_older",
    ),
    Plant(
        "older copies behind the first block stay beside damage", "storage/index/stored_blocks.py",
        "((_FLOOR, (set_id, key)), (_WITHIN, (set_id, key, end)))", "((_FLOOR, (set_id, key)),)", _BLOCKS,
        where="StoredBlocks.intact",
    ),
    Plant(
        "a copy of an entry replaces one that was added while it was made", "storage/index/rows.py",
        "if row.log_id not in moved_from:\n    continue", "", _LIVES, where="still_at",
    ),
    Plant(
        "a merge of index blocks drops the last row that it moves", "storage/index/block_writer.py",
        "rows[:end]", "rows[: end - 1]", _LIVES, where="BlockWriter._remove_rows_up_to",
    ),
    Plant(
        "rows in memory outlive newer ones that are packed", "storage/index/recent_index.py",
        "self._rows.discard(ledger_id, first, last)", "pass", [*_LIVES, *_RECENT], where="RecentIndex.add",
    ),
    Plant(
        "packed rows in memory outlive newer ones that are not", "storage/index/recent_index.py",
        "self._blocks.discard(row.ledger_id, row.first, row.last)", "pass", _RECENT, where="RecentIndex.add",
    ),
    Plant(
        "packed rows of deleted ledgers stay in memory", "storage/index/recent_index.py",
        "self._blocks.discard(ledger_id, 0, MAX_ID)", "pass", _RECENT, where="RecentIndex.discard_ledgers",
    ),
    Plant(
        "rows of deleted ledgers stay in memory", "storage/index/recent_index.py",
        "self._rows.discard(ledger_id, 0, MAX_ID)", "pass", _RECENT, where="RecentIndex.discard_ledgers",
    ),
    Plant(
        "rows of copied entries stay in memory", "storage/index/recent_index.py",
        "self._rows.discard(row.ledger_id, row.first, row.last)", "pass", _RECENT, where="RecentIndex.discard_moved",
    ),
    Plant(
        "a packed row in memory goes on behind a newer one", "storage/index/recent_blocks.py",
        "row_of_packed(packed) if last_of(packed) < newer else None", "row_of_packed(packed)", _LIVES,
        where="RecentBlocks.find",
    ),
    Plant(
        "a newer packed row is looked for in its block only", "storage/index/recent_blocks.py",
        "not behind and index < len(self._firsts)", "False", ["tests.storage.index.test_recent_blocks"],
        where="_Flush.around",
    ),
    Plant(
        "rows that were replaced let older ones through", "storage/index/recent_blocks.py",
        "if flush.hides(ledger_id):\n    return None", "if flush.hides(ledger_id):\n    continue",
        ["tests.storage.index.test_recent_blocks"], where="RecentBlocks.find",
    ),
    Plant(
        "rows that were looked up hide newer copies in the write caches", "storage/directory_storage.py",
        "self._discard_cached(found)", "pass",
        ["tests.storage.test_directory_storage", "tests.storage.test_ledger_storage"],
        where="DirectoryStorage.add_looked_up_rows",
    ),
    Plant(
        "a flush that is forgotten lets older ones through", "storage/index/recent_blocks.py",
        "takewhile(lambda flush: flush.log_ids.isdisjoint(log_ids), self._flushes)",
        "filter(lambda flush: flush.log_ids.isdisjoint(log_ids), self._flushes)",
        ["tests.storage.index.test_recent_blocks"], where="RecentBlocks.discard_logs",
    ),
    Plant(
        "the flushing cache gives older copies behind the first entry", "storage/directory_storage.py",
        "newer <= held.last", "False", _LIVES, where="DirectoryStorage.cached",
    ),
    Plant(
        "a read from the page cache goes on behind a newer copy", "storage/directory_storage.py",
        "self.next_cached(ledger_id, entry_id) - entry_id", "1 << 62", _LIVES, where="DirectoryStorage.resident",
    ),
    Plant(
        "a window goes on behind a newer copy", "storage/directory_storage.py",
        "run.slice(entry_id, count) if run is not None and run.count > count else run", "run",
        ["tests.storage.test_ledger_storage_windows"], where="DirectoryStorage.resident",
    ),
    Plant(
        "a load goes on behind a newer copy", "storage/ledger_storage.py",
        "newest < run.count", "False", _LIVES, where="LedgerStorage.keep",
    ),
    Plant(
        "a load that was overtaken by a flush goes on behind a newer copy", "storage/ledger_storage.py",
        "epoch != self.epoch", "False", _LIVES, where="LedgerStorage.keep",
    ),
    Plant(
        "a flush that ends during a load is not noticed", "storage/ledger_storage.py",
        "self.epoch += 1", "", _LIVES, where="LedgerStorage._ended",
    ),
    Plant(
        "a deletion during a load is not noticed", "storage/ledger_storage.py",
        "self.epoch += 1", "", ["tests.storage.test_ledger_storage"], where="LedgerStorage.forget",
    ),
    Plant(
        "the read cache takes an entry of which a newer copy came meanwhile", "storage/ledger_storage.py",
        "newest and run.ledger_id in self._states", "run.ledger_id in self._states",
        ["tests.storage.test_ledger_storage"], where="LedgerStorage.keep",
    ),
    Plant(
        "windows outlive newer copies", "storage/ledger_storage.py",
        "self._windows.discard(entries)", "", ["tests.storage.test_ledger_storage_windows"], where="LedgerStorage.add",
    ),
    Plant(
        "a mixed run leaves all older copies but one in a cache of reads", "entries/mixed_runs.py",
        "zip(self.ledger_ids, self.entry_ids, self.entry_ids, strict=True)",
        "iter([(self.ledger_ids[0], self.entry_ids[0], self.entry_ids[0])])", _LIVES, where="MixedRun.spans",
    ),
    Plant(
        "older copies in the middle of a newer run stay in a cache of reads", "entries/entry_run.py",
        "((self.ledger_id, self.first, self.last),)", "((self.ledger_id, self.first, self.first),)", _LIVES,
        where="EntryRun.spans",
    ),
    Plant(
        "entries that come beside a compaction go to a log with a lower id than the copies",
        "storage/entry_log/writer.py",
        "self._overtaken = True", "pass", _REBUILT, where="EntryLogWriter.reserve",
    ),
    Plant(
        "a compaction takes ids for logs after it has read the rows of their entries",
        "bookie/maintenance/compactor.py",
        "return False", "log_ids = await directory.in_flush_thread(directory.storage.reserve_logs, n_targets)",
        _REBUILT, where="Compactor._compact",
    ),
    Plant(
        "rows that were looked up outlive newer copies", "storage/directory_storage.py",
        "self.looked_up.discard(ledger_id, first, last)", "pass", _LIVES, where="DirectoryStorage.add",
    ),
    Plant(
        "rows that the read thread looked up together outlive newer copies", _LOOKED_UP,
        "known is not None and known[0] == n_written", "known is not None", _LIVES,
        where="LastSearches.find",
    ),
    Plant(
        "a row outlives a newer copy of its last entries", _LOOKED_UP,
        "begin and last_of(*self._cut(begin - 1, begin)) >= first", "False", _LOOK_UPS, where="FoundRows.discard",
    ),
    Plant(
        "what other threads have found changes with what is kept of it", _LOOKED_UP,
        "held = FoundRows(found.ledger_id, [])", "held = found", _LOOK_UPS, where="LookedUpRows.add",
    ),
    Plant(
        "rows that were looked up are kept without a limit", _LOOKED_UP,
        "self.cost > self.limit", "False", _LOOK_UPS, where="LookedUpRows.add",
    ),
    Plant(
        "a later look-up hides rows that an earlier one found", _LOOKED_UP,
        "dict(zip(self._firsts[begin:end], self._cut(begin, end), strict=True))", "dict[int, bytes]()",
        _LOOK_UPS, where="FoundRows.add",
    ),
    Plant(
        "a later look-up hides rows without packed form that an earlier one found", _LOOKED_UP,
        "chain(self._others[begin:end], found._others)", "found._others", _LOOK_UPS, where="FoundRows.add",
    ),
    Plant(
        "a row without packed form outlives a newer copy of its last entries", _LOOKED_UP,
        "bisect_left(self._others, low, key=_last)", "bisect_left(self._others, low, key=_first)", _LOOK_UPS,
        where="FoundRows._others_between",
    ),
    Plant(
        "a look-up unpacks all rows between the entries", _SCATTERED_MODULE,
        "MOST_ROWS * len(wanted)", "1 << 30",
        ["tests.storage.test_ledger_storage_contract"], where="Lookup.find",
    ),
    Plant(
        "rows of a striped ledger are unpacked one by one", _SCATTERED_MODULE,
        "MOST_ROWS * len(wanted)", "0", _SCATTERED, where="Lookup.find",
    ),
    Plant(
        "the last entry of a row goes without the checksum of its row", _SCATTERED_MODULE,
        "not any(map(eq, entry_ids, lasts))", "True", _SCATTERED, where="Lookup._of_rows",
    ),
    Plant(
        "a record with a whole checksummed block is read alone", _SCATTERED_MODULE,
        "max(cast(Sequence[int], sizes)) < CHECKSUM_BLOCK", "True", _SCATTERED, where="_is_plain",
    ),
    Plant(
        "records of several logs are all read from the first", _SCATTERED_MODULE,
        "by_log.setdefault(log_id, [])", "by_log.setdefault(log_ids[0], [])", _SCATTERED, where="Lookup._found_in",
    ),
    Plant(
        "a row that is unpacked with others holds the entries behind it", _SCATTERED_MODULE,
        "0 <= number < count", "0 <= number", _SCATTERED, where="Lookup._together",
    ),
    Plant(
        "as many rows of one entry as entries are the rows of the entries", _SCATTERED_MODULE,
        "columns[1] == tuple(entry_ids)", "len(columns[1]) == len(entry_ids)", _SCATTERED, where="Lookup._together",
    ),
    Plant(
        "as many rows as entries have one entry each", _SCATTERED_MODULE,
        "columns[2].count(1) == len(entry_ids) and columns[1] == tuple(entry_ids)", "columns[1] == tuple(entry_ids)",
        _SCATTERED, where="Lookup._together",
    ),
    Plant(
        "entries behind all rows are in the last of them", _SCATTERED_MODULE,
        "min(skipped) < 0 or not all(map(lt, skipped, columns[2]))", "min(skipped) < 0", _SCATTERED,
        where="Lookup._together",
    ),
    Plant(
        "entries before all rows are in one of them", _SCATTERED_MODULE,
        "min(skipped) < 0 or not all(map(lt, skipped, columns[2]))", "not all(map(lt, skipped, columns[2]))",
        _SCATTERED, where="Lookup._together",
    ),
    Plant(
        "as many rows as entries are a row for each", _SCATTERED_MODULE,
        "all(map(lt, map(sub, entry_ids, firsts), counts))", "True", _SCATTERED, where="_one_each",
    ),
    Plant(
        "the checksum of a row of many entries is that of each", _SCATTERED_MODULE,
        "checksum if count == 1 else None", "checksum", _SCATTERED, where="Lookup._together",
    ),
    Plant(
        "all rows that are unpacked together refer to one log", _SCATTERED_MODULE,
        "log_ids and log_ids.count(log_ids[0]) == len(log_ids)", "log_ids", _SCATTERED, where="Lookup._found_in",
    ),
    Plant(
        "an older write cache hides the copies of the newer one", _SCATTERED_MODULE,
        "newest or entry", "entry or newest", _SCATTERED, where="Lookup._in_write_caches",
    ),
    Plant(
        "records behind the end of a look-up are read nevertheless", _SCATTERED_MODULE,
        "{log_id: records.before(end) for log_id, records in self.logs.items()}", "self.logs", _SCATTERED,
        where="Lookup._stop_after",
    ),
    Plant(
        "a look-up copies all wanted entries of runs", "storage/cache/run_list.py",
        "max_bytes <= 0", "False", _SCATTERED, where="RunList.entries",
    ),
    Plant(
        "a look-up of two single entries goes through all between them", "storage/cache/mixed_entries.py",
        "end - begin > MOST_APART * len(entry_ids)", "False", _SCATTERED, where="LedgerEntries.entries",
    ),
    Plant(
        "a look-up of single entries ends in front of the last one", "storage/cache/mixed_entries.py",
        "max(entry_ids) + 1", "max(entry_ids)", _SCATTERED, where="LedgerEntries.entries",
    ),
    Plant(
        "a row that is not packed is left out where rows are unpacked together", "storage/index/looked_up.py",
        "end - begin > most or first_other < end_of_others", "end - begin > most", _SCATTERED,
        where="FoundRows.packed_between",
    ),
    Plant(
        "the rows of the ledger before are found, too", "storage/index/recent_blocks.py",
        "rows if rows[:8] == key_of(self.ledger_id, -1) else rows[ROW_BYTES:]", "rows", _SCATTERED,
        where="LedgerBlocks.packed_between",
    ),
    Plant(
        "rows in the next block are not found with others", "storage/index/recent_blocks.py",
        "-(-end // BLOCK_ROWS)", "block + 1", _SCATTERED, where="_Flush.packed",
    ),
    Plant(
        "ranges in any order are read by one call", "storage/files/page_cache.py",
        "0 <= gap <= _GAP", "gap <= _GAP", ["tests.storage.files.test_filesystem"],
        where="read_cached_each",
    ),
    Plant(
        "ranges far from each other are read by one call", "storage/files/page_cache.py",
        "0 <= gap <= _GAP", "0 <= gap", ["tests.storage.files.test_filesystem"],
        where="read_cached_each",
    ),
)  # fmt: skip

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
        "        self.file.pwrite(layout.encode_map(self._ledgers), self.position)\n        self.file.sync()\n"
        "        self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))\n        self.file.sync()\n",
        "        self.file.pwrite(*layout.seal(self.position, len(self._ledgers)))\n        self.file.sync()\n"
        "        self.file.pwrite(layout.encode_map(self._ledgers), self.position)\n        self.file.sync()\n", _WRITER,
    ),
    Plant(
        "a log's ledgers map is not synced before the pointer to it", "storage/entry_log/writer.py",
        "self.position)\n        self.file.sync()\n        self.file.pwrite(*layout.seal", "self.position)\n        self.file.pwrite(*layout.seal", _WRITER,
    ),
    Plant(
        "the bytes of a failed sync count for the map", "storage/entry_log/writer.py",
        "        self._pieces = []\n        self._unsynced = []\n", "        self._pieces = []\n", _WRITER,
    ),
    Plant(
        "a log is cut back to what was written", "storage/entry_log/writer.py",
        "self.position = self.written = self.synced\n        self.file.truncate(self.synced)",
        "self.position = self.written\n        self.file.truncate(self.written)", _WRITER,
    ),
    Plant(
        "a log goes on after a failed sync", "storage/entry_log/writer.py",
        "if error.errno in NO_SPACE and log.written != log.position:", "if log.written != log.position:", _WRITER,
    ),
    Plant(
        "a failed sync for want of room is cut back and repeated", "storage/entry_log/writer.py",
        "if error.errno in NO_SPACE and log.written != log.position:", "if error.errno in NO_SPACE:", _WRITER,
    ),
    Plant(
        "log ids may be given twice", "storage/entry_log/writer.py",
        '        replace_file(self._fs, posixpath.join(self._directory, _LAST_ID), f"{log_ids[-1]:x}\\n".encode())\n', "", _WRITER,
    ),
    Plant(
        "a new log's name is not durable", "storage/entry_log/writer.py",
        "            fs.sync_directory(posixpath.dirname(path))\n", "", _WRITER,
    ),
    Plant(
        "a log that could not be made is left behind", "storage/entry_log/writer.py",
        "        _close_quietly(file)\n        _remove_quietly(fs, path)\n        raise", "        _close_quietly(file)\n        raise", _WRITER,
    ),
    Plant(
        "a log may be a run longer than its limit", "storage/entry_log/writer.py",
        "log.position + size > self.size_limit\n", "log.position > self.size_limit\n", _WRITER,
    ),
    Plant(
        "the next log id wraps to one in use", "storage/entry_log/writer.py",
        "            if not self._fs.exists(self._path(self._next_id)):\n", "            if True:\n", _WRITER,
    ),
    Plant(
        "the end of a log's last block is not filled", "storage/entry_log/writer.py",
        "layout.FILLER * (-self.position % BLOCK)", "layout.FILLER * (-self.position % 512)", _WRITER,
    ),
    Plant(
        "filler could be the beginning of a size", "storage/entry_log/format.py",
        'FILLER = b"\\xf0"', 'FILLER = b"\\x70"', [*_WRITER, *_SCAN],
    ),
    Plant(
        "a file is left open where its row does not have the entry", "storage/entry_log/reader.py",
        "        except BaseException as e:\n            file.close()\n            if isinstance(e, OSError | DamageError):\n",
        "        except (OSError, DamageError) as e:\n            file.close()\n"
        "            if isinstance(e, OSError | DamageError):\n", _READER,
    ),
    Plant(
        "a short read of a log passes", "storage/entry_log/reader.py",
        "        if len(data) != size:\n", "        if not data:\n", _READER,
    ),
    Plant(
        "records are not compared with their row", "storage/entry_log/reader.py",
        "        if not _is_run(run):\n            raise", "        if False:\n            raise", _READER,
    ),
    Plant(
        "sizes of records are not compared with their row", "storage/entry_log/reader.py",
        "return run.ids_match() and _sizes_match(run)", "return run.ids_match()", _READER,
    ),
    Plant(
        "checksums of blocks are not compared", "storage/entry_log/reader.py",
        "        if bad is not None:\n", "        if False:\n", _READER,
    ),
    Plant(
        "memory's records are not compared with their row", "storage/entry_log/reader.py",
        "        if run.count > 1 and not _is_run(run):\n            return None\n", "", _READER,
    ),
    Plant(
        "memory's blocks are not compared with their checksums", "storage/entry_log/reader.py",
        "return run if not whole or first_bad_block(row, offsets[-1], start, data) is None else None", "return run", _READER,
    ),
    Plant(
        "single records are taken from memory unseen", "storage/entry_log/reader.py",
        "if data is None or not data.startswith(head(len(data) - 4, ledger_id, entry_id)):", "if data is None:", _READER,
    ),
    Plant(
        "a log that is missing is an error of the disk", "storage/entry_log/reader.py",
        "            except FileNotFoundError as e:\n", "            except ZeroDivisionError as e:\n", _READER,
    ),
    Plant(
        "a file that failed is used again", "storage/entry_log/reader.py",
        "            file.close()  # a file that failed once is opened anew\n            raise\n",
        "            self._idle.put_back(row.log_id, file)\n            raise\n", _READER,
    ),
    Plant(
        "files over the limit stay open", "storage/entry_log/reader.py",
        "        elif len(self._idle) > self.limit:\n", "        elif False:\n", _READER,
    ),
    Plant(
        "a torn record ends a scan silently", "storage/entry_log/scan.py",
        "                self.torn_at = at\n", "", _SCAN,
    ),
    Plant(
        "a scan passes over the head of a size behind zeros", "storage/entry_log/scan.py",
        'len(rest.lstrip(b"\\0")) - 3)', 'len(rest.lstrip(b"\\0")))', _SCAN,
    ),
    Plant(
        "a map that lacks ledgers passes", "storage/entry_log/format.py",
        "return sizes if sizes and len(sizes) == ledgers else None", "return sizes or None", _SCAN,
    ),
    Plant(
        "an older copy covers a newer one", "storage/cache/run_list.py",
        "        runs[low:high] = come\n", "        runs[low:high] = gone or come\n", _CACHE,
    ),
    Plant(
        "the rest behind a newer copy is lost", "storage/cache/run_list.py",
        "if gone and gone[-1].last > run.last:", "if len(gone) > 1 and gone[-1].last > run.last:", _CACHE,
    ),
    Plant(
        "single entries go before their runs are there", "storage/cache/write_cache.py",
        "        for run in self._mixed.runs(ledger_id):\n            runs.insert(run)\n",
        "        single = self._mixed.runs(ledger_id)\n        self._mixed.take_out(ledger_id)\n        for run in single:\n            runs.insert(run)\n", _CACHE,
    ),
    Plant(
        "a run is put over single entries that are newer", "storage/cache/write_cache.py",
        "run.first <= self._mixed.last(run.ledger_id)", "run.last < self._mixed.last(run.ledger_id)", _CACHE,
    ),
    Plant(
        "a flush leaves out the single entries of a ledger that has runs", "storage/cache/write_cache.py",
        "if single else runs", "if not runs else runs", _CACHE,
    ),
    Plant(
        "an entry that is written again is added to the columns", "storage/cache/mixed_entries.py",
        "ids[before] >= entry_id", "ids[before] > entry_id", _COLUMNS,
    ),
    Plant(
        "an entry passes one of its ledger that was left", "storage/cache/mixed_entries.py",
        "ledger_id in refused or ", "", _COLUMNS,
    ),
    Plant(
        "a flush leaves the last single entries out", "storage/cache/mixed_entries.py",
        "                positions = []\n        yield from self._parts(positions)\n", "                positions = []\n", _COLUMNS,
    ),
    Plant(
        "a flush goes over all entries of a ledger by one call", "storage/cache/mixed_entries.py",
        "        for at in range(0, len(positions), 2 * PART):\n            yield self._at(positions[at : at + 2 * PART])\n",
        "        if positions:\n            yield self._at(positions)\n", _COLUMNS,
    ),
    Plant(
        "many ledgers are not written in order", "storage/cache/mixed_entries.py",
        "    return parts[0] if parts else []\n", "    return unsorted\n", _COLUMNS,
    ),
    Plant(
        "the first refusal of a chunk is not looked at for what follows", "storage/cache/mixed_entries.py",
        "                checked = True\n", "", _COLUMNS,
    ),
    Plant(
        "single entries with a gap become one run", "storage/cache/mixed_entries.py",
        "!= len(positions) - 1:", "< 0:", _COLUMNS,
    ),
    Plant(
        "a flush that begins with runs leaves single entries out when ledgers go", "storage/cache/write_cache.py",
        "        if not dense:\n", "        if not self._mixed.is_dense:\n", _CACHE,
    ),
    Plant(
        "a reader behind a writer goes over all its entries each time", "storage/cache/mixed_entries.py",
        "            fresh = self._positions(newest, known)\n", "            fresh = self._positions(newest)\n            del view.positions[:]\n", _COLUMNS,
    ),
    Plant(
        "the newest single entry is given for any later one", "storage/cache/mixed_entries.py",
        "        if newest < 0 or self._entry_ids[newest] < entry_id:\n            return None\n"
        "        if self._entry_ids[newest] == entry_id:",
        "        if newest < 0:\n            return None\n        if self._entry_ids[newest] <= entry_id:", _COLUMNS,
    ),
    Plant(
        "runs of two ledgers become one row", "storage/cache/mixed_entries.py",
        "map(or_, map(ne, ledger_ids[1:], ledger_ids), map(ne, entry_ids[1:], expected))", "map(ne, entry_ids[1:], expected)", _COLUMNS,
    ),
    Plant(
        "what readers of single entries take is not counted", "storage/cache/mixed_entries.py",
        "            self.cost += VIEW_OVERHEAD\n", "", _CACHE,
    ),
    Plant(
        "the checksums of long single entries are those of short ones", "storage/index/rows.py",
        "    if max(map(len, records)) > CHECKSUM_BLOCK:\n", "    if False:\n", _WRITER,
    ),
    Plant(
        "runs of single entries are taken for entries alone", "storage/index/rows.py",
        "        if len(entries.starts) < len(entries):\n", "        if False:\n", _WRITER,
    ),
    Plant(
        "a long run of several sizes is many rows", "storage/index/rows.py",
        "    elif max(map(sub, bounds[1:], bounds)) > MOST_APART:\n", "    elif False:\n", _WRITER,
    ),
    Plant(
        "single entries of several sizes are taken for even ones", "storage/index/rows.py",
        "    if isinstance(offsets, range):\n", "    if True:\n", _WRITER,
    ),
    Plant(
        "the cost of ledgers is not counted", "storage/cache/write_cache.py",
        " + len(self._ledgers) * LEDGER_OVERHEAD", "", _CACHE,
    ),
    Plant(
        "the read cache keeps what was written anew", "storage/cache/read_cache.py",
        "        while runs is not None and runs.overlaps(run.first, run.last):\n", "        if runs is not None and runs.overlaps(run.first, run.last):\n", _CACHE,
    ),
    Plant(
        "a joined run is as long as it gets", "storage/cache/write_cache.py",
        "run.first != group[-1].last + 1 or size > max_bytes or count > max_entries", "run.first != group[-1].last + 1", _CACHE,
    ),
    Plant(
        "runs with a gap are joined", "storage/cache/write_cache.py",
        "run.first != group[-1].last + 1 or size", "run.first < group[-1].last or size", ["tests.storage.cache.test_cache.WriteCacheTests.test_gap"],
    ),
    Plant(
        "an entry in the middle of a row is lost when it is cut", "storage/index/rows.py",
        "left.append(cut(row, max(row.first, last + 1), row.last))", "left.append(cut(row, max(row.first, last + 2), row.last))", _ROWS,
    ),
    Plant(
        "the last short block of a row is not compared", "storage/index/rows.py",
        "range(-(-start // CHECKSUM_BLOCK), len(row.checksums) // 4)", "range(-(-start // CHECKSUM_BLOCK), total // CHECKSUM_BLOCK)", _ROWS,
    ),
    Plant(
        "the first whole block of a slice is not compared", "storage/index/rows.py",
        "range(-(-start // CHECKSUM_BLOCK), len", "range(start // CHECKSUM_BLOCK + 1, len", _ROWS,
    ),
    Plant(
        "a cut row keeps its checksums", "storage/index/rows.py",
        'offset=offset, checksums=b"")', "offset=offset)", _ROWS,
    ),
    Plant(
        "the rows of many ledgers count as those of one", "storage/index/recent_rows.py",
        "            cost = COMMIT_OVERHEAD + sum(", "            cost = sum(", _ROWS,
    ),
    Plant(
        "recent rows outlive a commit that is too big for them", "storage/index/recent_rows.py",
        "            self._ledgers.clear()\n", "", _ROWS,
    ),
    Plant(
        "recent rows hide newer ones", "storage/index/recent_rows.py",
        "                held = held.replaced(rows)\n", "                pass\n", _ROWS,
    ),
    Plant(
        "recent rows are taken for older ones that lie above", "storage/index/recent_rows.py",
        "        if held and held[-1].last < rows[0].first and len(held)", "        if held and len(held)", _ROWS,
    ),
    Plant(
        "recent rows of a ledger that is written on and on are one piece", "storage/index/recent_rows.py",
        " and len(held) + len(rows) <= MOST_TOGETHER:", ":", _ROWS,
    ),
    Plant(
        "a commit that goes takes newer rows along", "storage/index/recent_rows.py",
        "        if all(map(is_, rows, chain(held, (None,)))):", "        if True:", _ROWS,
    ),
    Plant(
        "a change of recent rows copies all rows of its ledger", "storage/index/recent_rows.py",
        "    if len(rows) <= MOST_TOGETHER:\n", "    if True:\n", _ROWS,
    ),
    Plant(
        "rows that reach into the next chunk hide what is newer there", "storage/index/recent_rows.py",
        "high = max(bisect_right(self._starts, last), low + 1)", "high = low + 1", _ROWS,
    ),
    Plant(
        "a failed commit leaves its transaction open", "storage/index/run_index.py",
        '            if self._writer.in_transaction:\n                execute("ROLLBACK")\n            raise', "            raise", _INDEX,
    ),
    Plant(
        "a row that touches its neighbour is taken for one that overlaps it not", "storage/index/run_index.py",
        "            if first <= before:\n", "            if first < before:\n", _INDEX,
    ),
    Plant(
        "rows that wait for one call are passed over by one that replaces them", "storage/index/run_index.py",
        "            if first <= before:\n                self._insert(rows[begin:index])\n", "            if first <= before:\n", _INDEX,
    ),
    Plant(
        "the ends of ledgers that a commit needs are forgotten", "storage/index/run_index.py",
        "            known.clear()\n            fresh = set(chain.from_iterable(columns))\n", "            known.clear()\n", _INDEX,
    ),
    Plant(
        "a full disk is any failure of the index", "storage/index/index_file.py",
        "        if code in _FULL:\n", "        if False:\n", [*_INDEX, *_STORAGE],
    ),
    Plant(
        "an index of a later release is opened", "storage/index/index_file.py",
        "    if version != SCHEMA_VERSION:\n", "    if version < SCHEMA_VERSION:\n", _INDEX,
    ),
    Plant(
        "logs are indexed before they are synced", "storage/directory_storage.py",
        "            self.log.sync()\n        except OSError as e:\n", "        except OSError as e:\n", _STORAGE,
    ),
    Plant(
        "older copies cover newer ones after a failed flush", "storage/directory_storage.py",
        "        self.flushing.absorb(self.active)\n        self.active, self.flushing = self.flushing, WriteCache()",
        "        self.active.absorb(self.flushing)\n        self.flushing = WriteCache()", _STORAGE,
    ),
    Plant(
        "the flushing half hides the active one", "storage/directory_storage.py",
        "        if held is not None:\n            return held\n        held = self.flushing.find(ledger_id, entry_id, max_count)\n",
        "        held = self.flushing.find(ledger_id, entry_id, max_count) or held\n", _STORAGE,
    ),
    Plant(
        "a row looked up before a newer copy was written is kept", "storage/directory_storage.py",
        "            if n_written == self._n_written:\n", "            if True:\n", _STORAGE,
    ),
    Plant(
        "damage is not looked for again in the index", "storage/directory_storage.py",
        "                if now == row:\n", "                if True:\n", _STORAGE,
    ),
    Plant(
        "a fence that was not stored is forgotten", "storage/ledger_states.py",
        "        self._dirty.update(i for i in ids if i in self._rows or i in self._forgotten)", "        pass", ["tests.storage.test_ledger_states", *_STORAGE],
    ),
    Plant(
        "an incomplete index is taken for complete", "storage/ledger_storage.py",
        "            if logs_with_data(fs, path):\n", "            if False:\n", _STORAGE,
    ),
    Plant(
        "ledgers move when a directory joins", "storage/ledger_dirs.py",
        "return self.elsewhere.get(ledger_id, ledger_id % self.count)", "return ledger_id % self.count", ["tests.storage.test_directory_map"],
    ),
    Plant(
        "a ledger in two directories passes", "storage/ledger_storage.py",
        "            if row.ledger_id in stored:\n", "            if False:\n", ["tests.storage.test_directory_map"],
    ),
    Plant(
        "an index may get another ledger directory", "codec/metadata_formats/cookie.py",
        "self._pairs >= stored._pairs", "True", ["tests.codec.metadata_formats.test_cookie"],
    ),
    Plant(
        "the read cache keeps an older copy", "storage/ledger_storage.py",
        "        self._read_cache.discard(run)\n", "", _STORAGE,
    ),
    Plant(
        "two checkpoints at once", "storage/ledger_storage.py",
        "        if self._in_checkpoint:\n            return None\n", "", _STORAGE,
    ),
)  # fmt: skip

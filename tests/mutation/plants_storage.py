"""Plants in ``storage``."""

from .plant import Plant

_JOURNAL = ["tests.storage.journal.test_journal", "tests.storage.journal.test_journal_crash"]

_FILES = ["tests.storage.files.test_filesystem", "tests.storage.files.test_filesystem_calls"]

_INDEX = ["tests.storage.index.test_run_index"]

_BLOCKS = ["tests.storage.index.test_blocks"]

_PACKED = ["tests.storage.index.test_blocks.PackedContractTests"]

_EXCHANGE = ["tests.bookie.test_hand_back_crash"]

PLANTS = (
    Plant(
        "an error of a file does not say which", "storage/files/filesystem.py",
        "            error.filename = self.path\n", "            pass\n", _FILES,
    ),
    Plant(
        "reserved blocks count for no process", "storage/files/filesystem.py",
        "    if re.search(rb\"^Uid:(\\s+\\d+){3}\\s+0$\", status, re.M):", "    if False:", _FILES,
    ),
    Plant(
        "a queue of the kernel that is dropped stays", "storage/files/disk_queue.py",
        "            self._end = weakref.finalize(self, self._kernel.close)\n",
        "            self._end = self._kernel.close\n", ["tests.storage.files.test_disk_queue"],
    ),
    Plant(
        "a restart finds a commit that failed", "storage/index/run_index.py",
        "                self._overwrite()\n", "                pass\n", ["tests.storage.index.test_failed_commits"],
    ),
    Plant(
        "a commit that failed is written over by nothing", "storage/index/run_index.py",
        "[(1,), (-1,)]", "[(0,), (0,)]", ["tests.storage.index.test_failed_commits"],
    ),
    Plant(
        "a log is removed although a restart may find that it is needed", "storage/index/run_index.py",
        "        if self._in_doubt:\n            raise StorageError", "        if False:\n            raise StorageError",
        ["tests.storage.index.test_failed_commits"],
    ),
    Plant(
        "an index whose tables were changed is opened", "storage/index/index_file.py",
        "    if found != _TABLES:", "    if False:", ["tests.storage.index.test_run_index"],
    ),
    Plant(
        "damage of an entry makes those before it unreadable", "storage/entry_log/reader.py",
        "            if max_bytes <= 1:\n                raise\n", "            raise\n", ["tests.storage.entry_log.test_reader"],
    ),
    Plant(
        "a row with a damaged key is a missing entry", "storage/index/run_index.py",
        "    check_next(connection, ledger_id, entry_id)\n", "", _INDEX,
    ),
    Plant(
        "a ledger ends before a row with a damaged key", "storage/index/run_index.py",
        "            if len(rows) < _PAGE:\n                check_place(", "            if False:\n                check_place(",
        _INDEX,
    ),
    Plant(
        "a page begins behind a row with a damaged key", "storage/index/run_index.py",
        "            floor(connection, *after)", "            pass", _INDEX,
    ),
    Plant(
        "a page passes over a row with a damaged key", "storage/index/run_index.py",
        "                check_place(connection, after[0], rows[-1].first if rows else after[1])\n", "", _INDEX,
    ),
    Plant(
        "a row is committed beside one with a damaged key", "storage/index/stored_runs.py",
        "        behind = check_next(connection, ledger_id, MAX_ID)\n", "        behind = None\n", _INDEX,
    ),
    Plant(
        "a new row hides one with a damaged key", "storage/index/run_index.py",
        "        check_place(self._writer, row.ledger_id, found[-1].first if found else row.first)\n", "", _INDEX,
    ),
    Plant(
        "the rows of an index may be in any order", "storage/index/index_file.py",
        "PRAGMA integrity_check({table})", "PRAGMA quick_check({table})", _INDEX,
    ),
    Plant(
        "a file is replaced without a sync", "storage/files/replace.py",
        "file.sync(metadata=True)", "pass", ["tests.storage.files.test_replace"],
    ),
    Plant(
        "a replaced file's directory is not synced", "storage/files/replace.py",
        "fs.sync_directory(posixpath.dirname(path))", "pass", ["tests.storage.files.test_replace"],
    ),
    Plant(
        "the highest mark of the directories is taken", "storage/journal/log_mark.py",
        "min(valid, default=JournalPosition())", "max(valid, default=JournalPosition())",
        ["tests.storage.journal.test_log_mark"],
    ),
    Plant(
        "a new journal file follows one that is not durable", "storage/journal/journal.py",
        "        if old is not None and self.durable != self.position:\n            self._sync(old)\n", "", _JOURNAL,
    ),
    Plant(
        "a start relies on the name of a journal file that may not be durable", "storage/journal/replay.py",
        "if ids and ids[-1] > mark.file_id and self._is_empty(ids[-1]):", "if False:",
        ["tests.bookie.test_failed_sync_crash.FailedSyncTests.test_names"],
    ),
    Plant(
        "a torn row passes for a row", "storage/index/row_values.py",
        "good = _crc(row) == values[7] and row.first <= row.last", "good = row.first <= row.last",
        _INDEX,
    ),
    # -- real files --
    Plant(
        "a directory is not synced", "storage/files/filesystem.py",
        "            try:\n                os.fsync(fd)\n            finally:\n                os.close(fd)", "            os.close(fd)", _FILES,
    ),
    Plant(
        "the failed sync of a directory is ignored", "storage/files/filesystem.py",
        "                os.fsync(fd)\n            finally:", "                os.fsync(fd)\n            except OSError:\n"
        "                return\n            finally:", _FILES,
    ),
    Plant(
        "a new directory's name is not durable", "storage/files/filesystem.py",
        "        self.sync_directory(parent)\n", "", _FILES,
    ),
    Plant(
        "a sync does nothing", "storage/files/filesystem.py", "            os.fdatasync(self._fd)", "            pass", _FILES,
    ),
    Plant(
        "metadata are not synced", "storage/files/filesystem.py",
        "            os.fsync(self._fd)", "            os.fdatasync(self._fd)", _FILES,
    ),
    Plant(
        "an ordinary durable write is not synced", "storage/files/filesystem.py",
        "self.pwrite(b\"\".join(parts), offset)\n        if durable:",
        "self.pwrite(b\"\".join(parts), offset)\n        if False:", _FILES,
    ),
    Plant(
        "a durable direct write carries no flag", "storage/files/filesystem.py",
        "offset + written, flags if self._direct else 0)", "offset + written, 0)", _FILES,
    ),
    Plant(
        "a long durable direct write is not synced", "storage/files/filesystem.py",
        "if durable and not (at_once and self._direct):", "if durable and not (_DURABLE and self._direct):", _FILES,
    ),
    Plant(
        "a direct write that was refused is not synced", "storage/files/filesystem.py",
        "if durable and not (at_once and self._direct):", "if durable and not at_once:", _FILES,
    ),
    Plant(
        "direct writes stay direct after a refusal", "storage/files/filesystem.py",
        "        fcntl.fcntl(self._fd, fcntl.F_SETFL, fcntl.fcntl(self._fd, fcntl.F_GETFL) & ~os.O_DIRECT)", "        pass",
        _FILES,
    ),
    Plant(
        "any failed direct write goes through the cache", "storage/files/filesystem.py",
        "not self._direct or error.errno not in (errno.EINVAL, errno.EOPNOTSUPP)", "not self._direct", _FILES,
    ),
    Plant(
        "a direct read gives what lies before its place", "storage/files/filesystem.py",
        "return bytes(view[offset - start : max(", "return bytes(view[0 : max(", _FILES,
    ),
    Plant(
        "a direct read gives more than was asked for", "storage/files/filesystem.py",
        "min(found, end - start))])", "found)])", _FILES,
    ),
    Plant(
        "a short write is not completed", "storage/files/filesystem.py",
        "        while written < len(data):\n", "        while False:\n", _FILES,
    ),
    Plant(
        "the rest of a short write goes to its beginning", "storage/files/filesystem.py",
        "os.pwrite(self._fd, rest[written:], offset + written)", "os.pwrite(self._fd, rest[written:], offset)", _FILES,
    ),
    Plant(
        "a short direct write is not completed", "storage/files/filesystem.py",
        "        while written < len(piece):\n", "        while not written:\n", _FILES,
    ),
    Plant(
        "the rest of a short direct write goes to its beginning", "storage/files/filesystem.py",
        "(piece[written:],), offset + written,", "(piece[written:],), offset,", _FILES,
    ),
    Plant(
        "a short read is not completed", "storage/files/filesystem.py",
        "if len(data) == size or not data:", "if data or not data:", _FILES,
    ),
    Plant(
        "a used room is written with its old bytes", "storage/files/filesystem.py",
        "        yield room[:at]", "        yield room[: -(-at // 512) * 512]", _FILES,
    ),
    Plant(
        "a part that spans rooms begins anew in the next one", "storage/files/filesystem.py",
        "memoryview(part)[done:] if done else part", "memoryview(part)[: len(part) - done] if done else part", _FILES,
    ),
    Plant(
        "pieces of a long write go to one place", "storage/files/filesystem.py",
        "                    offset += len(piece)\n", "", _FILES,
    ),
    Plant(
        "a room is lost by a failed write", "storage/files/filesystem.py",
        "        finally:\n            self.give(room)\n", "        except MemoryError:\n            raise\n"
        "        self.give(room)\n", _FILES,
    ),
    Plant(
        "resident reads give what memory holds of them", "storage/files/filesystem.py",
        "        return data if len(data) == size else None\n", "        return data\n", _FILES,
    ),
    Plant(
        "a lock is shared", "storage/files/filesystem.py", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", _FILES,
    ),
    Plant(
        "a lock that is held is taken for granted", "storage/files/filesystem.py",
        '            raise DirectoryLockedError(f"{path} is locked by another process") from None',
        "            return FileLock(-1)", _FILES,
    ),
    Plant(
        "a new file may be an old one", "storage/files/filesystem.py", "os.O_CREAT | os.O_EXCL if create", "os.O_CREAT if create", _FILES,
    ),
    Plant(
        "a listing has no order", "storage/files/filesystem.py", "sorted(os.listdir(path))", "os.listdir(path)", _FILES,
    ),
    Plant(
        "usage counts what only root may use", "storage/files/filesystem.py", "found.f_bavail * found", "found.f_bfree * found", _FILES,
    ),
    # -- Apache's index --
    Plant(
        "an import removes the databases before the cookies are exchanged", "storage/apache/importing.py",
        "        index.close()\n    return imported\n",
        "        index.close()\n    fs.unlink(index_directory + '/locations/CURRENT')\n    return imported\n", _EXCHANGE,
    ),
    Plant(
        "an entry that is not in its place is denied", "storage/apache/locations.py",
        "        yield log_id, size > 0,", "        if size:\n            yield log_id, size > 0,",
        ["tests.storage.apache.test_importing"],
    ),
    Plant(
        "databases of Apache's bookie pass for left over", "storage/apache/take_over.py",
        "    if is_apaches(fs, directories):\n        return\n", "",
        ["tests.bookie.lifecycle.test_take_over"],
    ),
    Plant(
        "cookies are exchanged before the databases are there", "bookie/lifecycle/hand_back.py",
        "            exported = [self._export(path) for path in indexes]\n",
        "            stamp_for_apache(self.fs, self.paths.all())\n"
        "            exported = [self._export(path) for path in indexes]\n", _EXCHANGE,
    ),
    Plant(
        "an export goes on with the databases of an older one", "storage/apache/exporting.py",
        "    discard_index(fs, index_directory)\n", "", ["tests.storage.apache.test_exporting"],
    ),
    Plant(
        "ours is gone before Apache's cookie is there", "storage/cookies.py",
        "    for directory in directories:\n        if fs.exists(_cookie_path(directory)):\n"
        "            fs.unlink(_cookie_path(directory))\n            fs.sync_directory(current(directory))\n",
        "        fs.unlink(_cookie_path(directory))\n        fs.sync_directory(current(directory))\n",
        ["tests.storage.test_cookies"],
    ),
    # -- the index --
    Plant(
        "commits of the index are not synced", "storage/index/index_file.py",
        '"synchronous = FULL"', '"synchronous = OFF"', _INDEX,
    ),
    Plant(
        "commits of the index are synced when they are moved", "storage/index/index_file.py",
        '"synchronous = FULL"', '"synchronous = NORMAL"', _INDEX,
    ),
    Plant(
        "an index denies what it does not find before it is checked", "storage/index/run_index.py",
        "        if self._unchecked is not None:\n            raise StorageError(", "        if False:\n            raise StorageError(",
        _INDEX,
    ),
    Plant(
        "an index is checked as commits have left it", "storage/index/run_index.py",
        "            n_bytes = self._structure.run(unchecked)\n", "            n_bytes = self._structure.run(self._writer)\n", _INDEX,
    ),
    Plant(
        "the states of ledgers are read before they are checked", "storage/index/index_file.py",
        'READ_AT_START = ("ledgers", "state")', 'READ_AT_START = ("state",)', _INDEX,
    ),
    Plant(
        "sizes are stored in fewer bytes than they need", "storage/index/row_values.py",
        "least < 1 << 8 else 2", "least <= 1 << 8 else 2", ["tests.storage.index.test_row_values"],
    ),
    Plant(
        "sizes that take no less room are stored in another form", "storage/index/row_values.py",
        "_LEAST.size + width * count >= len(sizes)", "_LEAST.size + width * count > len(sizes)",
        ["tests.storage.index.test_row_values"],
    ),
    Plant(
        "a damaged last row is no row", "storage/index/stored_runs.py",
        "        row = floor(connection, ledger_id, MAX_ID)\n",
        "        try:\n            row = floor(connection, ledger_id, MAX_ID)\n        except Exception:\n            return {}\n", _INDEX,
    ),
    Plant(
        "the last entry is taken from a row unseen", "storage/index/stored_runs.py",
        "    row = row_from(values) if values is not None", "    row = IndexRow(*values[:7]) if values is not None", _INDEX,
    ),
    Plant(
        "what lies behind the place of an entry is not verified", "storage/index/stored_blocks.py",
        "        for number in at_ends:\n            self._behind(number, key)\n", "", _BLOCKS,
    ),
    Plant(
        "what lies behind the last entry of a ledger is not verified", "storage/index/stored_blocks.py",
        "            if not behind:\n                self._behind(generation.number, key)\n", "", _BLOCKS,
    ),
    Plant(
        "a look-up denies what is not where it expected it", "storage/index/stored_blocks.py",
        "        while likely or others:\n", "        while likely:\n", _BLOCKS,
    ),
    Plant(
        "the target of a merge is put behind the newest rows", "storage/index/block_writer.py",
        "        self.generations.insert(self.generations.index(sources[0]), target)\n", "        self.generations.append(target)\n", _BLOCKS,
    ),
    Plant(
        "a listing goes on behind a damaged block", "storage/index/stored_blocks.py",
        "        self.floor(number, key)\n        return self._behind", "        return self._behind", _BLOCKS,
    ),
    Plant(
        "a damaged block hides what other generations hold", "storage/index/stored_blocks.py",
        "                damage = error\n                continue\n", "                raise error\n", _BLOCKS,
    ),
    Plant(
        "a damaged block is an empty one", "storage/index/stored_blocks.py",
        "        if damage is not None:\n            raise damage\n", "", _BLOCKS,
    ),
    Plant(
        "a commit fails for a damaged block of others", "storage/index/block_writer.py",
        "                except DamageError:\n                    continue\n", "                except DamageError:\n                    raise\n", _BLOCKS,
    ),
    Plant(
        "ledgers behind a new one are taken for new ones", "storage/index/stored_runs.py",
        "        index = bisect_left(ledger_ids, behind.ledger_id, index + 1)\n", "        index = len(ledger_ids)\n", _BLOCKS,
    ),
    Plant(
        "ledgers of blocks behind a new one are taken for new ones", "storage/index/block_writer.py",
        ", index) if behind else len(ledger_ids)\n", ", index) if False else len(ledger_ids)\n", _BLOCKS,
    ),
    Plant(
        "a block that a damaged key hides is taken for removed", "storage/index/block_writer.py",
        ".rowcount != 1:", ".rowcount > 1:", _BLOCKS,
    ),
    Plant(
        "a merge fails for a damaged block", "storage/index/block_writer.py",
        "            self.generations = before\n", "            raise\n", _BLOCKS,
    ),
    Plant(
        "a merge forgets what it cut off a block", "storage/index/block_writer.py",
        "                self.replace(block, rows[end:])\n", "                self.replace(block, ())\n", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "merged rows come before their time", "storage/index/block_writer.py",
        "        bound = min(ends, default", "        bound = max(ends, default", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "a merge is added to the target of one that ended", "storage/index/block_writer.py",
        "                self._change(each, WHOLE)  #", "                pass  #", _BLOCKS,
    ),
    Plant(
        "a merge is made by the commit that begins it", "storage/index/block_writer.py",
        "                while n_rows > 0 and (", "                while (", _BLOCKS,
    ),
    Plant(
        "some rows of a ledger are packed and others are not", "storage/index/rows.py",
        "    long = {row.ledger_id for row in rows if not can_be_packed(row)}\n", "    long = set()\n    rows = [row for row in rows if can_be_packed(row)]\n",
        ["tests.storage.index.test_rows"],
    ),
    Plant(
        "packed rows of a flush are not in order", "storage/mixed_rows.py",
        "    return sorted(chain.from_iterable(", "    return list(chain.from_iterable(", ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "packed rows of runs are not committed", "storage/directory_storage.py",
        "        batch.mixed += short\n", "", ["tests.storage.test_directory_storage"],
    ),
    Plant(
        "memory looks through the rows of any number of flushes", "storage/index/recent_blocks.py",
        "*self._flushes[: MOST_FLUSHES - 1])", "*self._flushes)", ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "packed rows that replace stored ones are added beside them", "storage/index/run_index.py",
        "            is_late = list(map(le, rows.first_ids, before))\n", "            is_late = [False] * len(rows)\n", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "rows in blocks are not trimmed", "storage/index/run_index.py",
        "            self._insert(blocks.take_out(late))\n", "            pass\n", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "copies do not take the place of rows in blocks", "storage/index/run_index.py",
        "            for part in still_at(row, sorted(stored + packed), batch", "            for part in still_at(row, stored, batch", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "what a copy leaves of a packed row is lost", "storage/index/run_index.py",
        "            fresh += [part for part in left if part.last < row.first]\n", "", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "the rows of a deleted ledger stay in blocks", "storage/index/run_index.py",
        "        blocks.delete(ledger_ids)\n", "", [*_BLOCKS, *_PACKED],
    ),
    Plant(
        "recent packed rows outlive what replaces them", "storage/index/recent_blocks.py",
        "            self._hidden.add(ledger_id)\n", "            pass\n", ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "recent packed rows outlive their log", "storage/directory_storage.py",
        "        self.recent_blocks.discard_logs(moved_from)\n", "", ["tests.storage"],
    ),
    Plant(
        "a flush of runs leaves older packed rows in memory", "storage/directory_storage.py",
        "            self.recent_blocks.discard(row.ledger_id, row.first, row.last)\n", "            pass\n", ["tests.storage"],
    ),
    Plant(
        "keys of deleted ledgers stay in memory", "storage/ledger_states.py",
        "        if len(self._keys) > 2 * len(self._rows) + _SPARE_KEYS:\n", "        if False:\n",
        ["tests.storage.test_ledger_states"],
    ),
    Plant(
        "each look-up in recent packed rows unpacks a block", "storage/index/recent_blocks.py",
        "        packed = self._rows[index]\n        if packed[:8]",
        "        packed = [*map(row_of_packed, self._rows)] and self._rows[index]\n        if packed[:8]",
        ["tests.storage.test_ledger_storage_contract"],
    ),
    Plant(
        "a table of recent packed rows goes on with the block that it began with", "storage/index/recent_blocks.py",
        "        if not self._begin <= key < self._end:\n", "        if not self._rows:\n",
        ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "single records that are all of a row are not verified", "storage/entry_log/reader.py",
        "            if not checksum or crc32c_of_bytes(data).to_bytes(4, \"big\") == checksum:\n", "            if True:\n",
        ["tests.storage.test_ledger_storage_contract.PageCacheTests.test_striped_ledger_is_found"],
    ),
    Plant(
        "rows of a striped ledger are looked up one by one", "storage/directory_storage.py",
        "0 < found.first - before[-1].last <= _NEAR:", "found.first - before[-1].last == 1:",
        ["tests.storage.test_directory_storage"],
    ),
    Plant(
        "an entry that is not there costs a look-up of all rows behind it", "storage/directory_storage.py",
        "        row = self.index.find(ledger_id, entry_id)\n        if row is None:\n            return None\n        rows = self._rows_ahead(row)\n",
        "        row = self.index.find(ledger_id, entry_id)\n        rows = self._rows_ahead(row or IndexRow(ledger_id, entry_id, entry_id, 0, 0, 0))\n        if row is None:\n            return None\n",
        ["tests.storage.test_directory_storage"],
    ),
    Plant(
        "a look-up of an entry before the last ones ends what was looked up together", "storage/directory_storage.py",
        "        if rows[-1].last - rows[-1].first < MOST_APART and is_onward:\n",
        "        if rows[-1].last - rows[-1].first < MOST_APART:\n",
        ["tests.storage.test_directory_storage"],
    ),
    Plant(
        "what memory holds in part counts as held", "storage/files/filesystem.py",
        "if end - begin <= n_bytes else None)", "if start - begin <= n_bytes else None)",
        ["tests.storage.files.test_filesystem"],
    ),
)  # fmt: skip

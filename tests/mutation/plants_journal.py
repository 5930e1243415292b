"""Plants in ``storage/journal`` and in what a start does with marks and cookies."""

from .plant import Plant

_JOURNAL = ["tests.storage.journal.test_journal", "tests.storage.journal.test_journal_crash"]
_REPLAY = ["tests.storage.journal.test_reader", "tests.storage.journal.test_replay"]
_FORMAT = ["tests.storage.journal.test_format"]
_FILES = ["tests.storage.journal.test_files", "tests.storage.journal.test_journal"]
_MARK = ["tests.storage.journal.test_log_mark"]
_COOKIES = ["tests.storage.test_cookies"]

PLANTS = (
    Plant(
        "a journal without a file descriptor for the next file ends", "storage/journal/journal.py",
        "            if old is None or error.errno not in NO_FILES:\n", "            if True:\n",
        ["tests.storage.journal.test_journal"],
    ),
    Plant(
        "a release without file descriptors ends the journal", "storage/journal/journal.py",
        "            if isinstance(error, OSError) and error.errno in NO_FILES:\n", "            if False:\n",
        ["tests.storage.journal.test_journal"],
    ),
    Plant(
        "a file keeps the name that was not made durable", "storage/journal/files.py",
        "                self._fs.rename(path, spare)\n", "", ["tests.storage.journal.test_files"],
    ),
    Plant(
        "a spare that got no file descriptor is lost", "storage/journal/files.py",
        "            if recycled:\n                self._spares.appendleft(path)\n", "",
        ["tests.storage.journal.test_files"],
    ),
    Plant(
        "a mark counts as durable because it was read", "storage/journal/log_mark.py",
        "        self._durable = JournalPosition()\n", "        self._durable = self.position\n",
        ["tests.storage.journal.test_log_mark"],
    ),
    Plant(
        "a file is recycled under its old name once more", "storage/journal/files.py",
        "return mark is None or mark.file_id == file_id", "return True", ["tests.storage.journal.test_files"],
    ),
    Plant(
        "a journal is written after it has failed", "storage/journal/journal.py",
        "        if self._failure is not None:\n            raise StorageFailedError", "        if self._failure is None:\n"
        "            return\n        if not self._replayed:\n            raise StorageFailedError", _JOURNAL,
    ),
    Plant(
        "a journal whose sync failed does not know it", "storage/journal/journal.py",
        "                self._sync(self._file)\n            except Exception as error:\n                self._failure = error\n",
        "                self._sync(self._file)\n            except Exception:\n", _JOURNAL,
    ),
    Plant(
        "a group behind unsynced ones is durable by its own flag", "storage/journal/journal.py",
        "at_once = sync and (self.durable == self.position or start == HEADER_SIZE)", "at_once = sync", _JOURNAL,
    ),
    Plant(
        "a journal is written without being replayed", "storage/journal/journal.py",
        "        if not self._replayed:\n", "        if False:\n", _JOURNAL,
    ),
    Plant(
        "what was written counts as durable", "storage/journal/journal.py",
        "        if at_once:\n            self._synced()\n", "        if at_once or not sync:\n            self._synced()\n", _JOURNAL,
    ),
    Plant(
        "the end of a journal is not marked", "storage/journal/journal.py",
        "self._write(file, (), sync=True, last=True)", "self._write(file, (), sync=True)", [*_JOURNAL, *_REPLAY],
    ),
    Plant(
        "a journal marks its end after a failure", "storage/journal/journal.py",
        "if self._failure is None and file is not None:", "if file is not None:", _JOURNAL,
    ),
    Plant(
        "zeros at the end of a group's block are left out", "storage/journal/format.py",
        "zeros = bytes(SECTOR + (-end - SECTOR) % block)", "zeros = bytes(-end % block)", _FORMAT,
    ),
    Plant(
        "no zeros follow a group", "storage/journal/format.py",
        "zeros = bytes(SECTOR + (-end - SECTOR) % block)", "zeros = b''", _FORMAT,
    ),
    Plant(
        "any byte behind the zeros after a group is a torn tail", "storage/journal/reader.py",
        "torn, durable = any(self._file.pread(SECTOR, offset)), JournalPosition()",
        "torn, durable = any(self._file.pread(1 << 30, offset)), JournalPosition()", _REPLAY,
    ),
    Plant(
        "zeros at the beginning of a sector are no torn tail", "storage/journal/reader.py",
        "any(self._file.pread(SECTOR, offset))", "any(self._file.pread(4, offset))", _REPLAY,
    ),
    Plant(
        "a torn tail is none", "storage/journal/reader.py",
        "torn, durable = any(self._file.pread(SECTOR, offset)), JournalPosition()", "torn, durable = False, JournalPosition()", _REPLAY,
    ),
    Plant(
        "the tail is searched for one trailer", "storage/journal/reader.py",
        "                at = data.find(nonce, at + 1)\n", "                at = -1\n", _REPLAY,
    ),
    Plant(
        "only the first piece of a tail is searched", "storage/journal/reader.py",
        "            offset += len(data)\n        return JournalEnd(torn, durable)", "            break\n        return JournalEnd(torn, durable)", _REPLAY,
    ),
    Plant(
        "a group of another place is replayed", "storage/journal/reader.py",
        "if trailer is None or trailer.start != start:", "if trailer is None:", _REPLAY,
    ),
    Plant(
        "the checksum of a group is not compared", "storage/journal/reader.py",
        "        if not group_matches(data, trailer):\n            return None\n", "", _REPLAY,
    ),
    Plant(
        "an old group of a recycled file is replayed", "storage/journal/format.py",
        "    if nonce != mark.nonce or file_id != mark.file_id:\n        return None\n", "", [*_FORMAT, *_REPLAY],
    ),
    Plant(
        "a replay goes on behind the end of a file", "storage/journal/reader.py",
        "            self.finished = group.trailer.last\n", "", _REPLAY,
    ),
    Plant(
        "a file that ends below what was durable passes", "storage/journal/replay.py",
        "            if durable > self.end:\n", "            if False:\n", _REPLAY,
    ),
    Plant(
        "damage behind the end of the last file passes", "storage/journal/replay.py",
        "        if tail.durable > self.end:\n", "        if False:\n", _REPLAY,
    ),
    Plant(
        "a torn file that is not the last passes", "storage/journal/replay.py",
        "            if tail.torn:\n                raise", "            if False:\n                raise", _REPLAY,
    ),
    Plant(
        "a missing journal file passes", "storage/journal/replay.py",
        "if durable is not None and ids[0] <= durable.file_id and durable.file_id not in ids:", "if False and durable:", _REPLAY,
    ),
    Plant(
        "a mark whose file is missing passes", "storage/journal/replay.py",
        "if mark.file_id > 0 and (not ids or ids[0] != mark.file_id):", "if mark.file_id > 0 and not ids:", _REPLAY,
    ),
    Plant(
        "a file that ends before the mark passes", "storage/journal/replay.py",
        "if start > file.size():", "if False:", _REPLAY,
    ),
    Plant(
        "a replayed tail is not written again", "storage/journal/replay.py",
        "            file.pwrite(file.pread(min(CHUNK, reader.end - offset), offset), offset)\n", "            pass\n",
        [*_REPLAY, "tests.bookie.test_failed_sync_crash"],
    ),
    Plant(
        "a replayed tail is synced with its end mark only", "storage/journal/replay.py",
        "        file.sync()\n        group, end", "        group, end", [*_REPLAY, "tests.bookie.test_failed_sync_crash"],
    ),
    Plant(
        "the end mark of a replay is not synced", "storage/journal/replay.py",
        "        file.pwritev(group, reader.end)\n        file.sync(metadata=True)\n", "        file.pwritev(group, reader.end)\n",
        [*_REPLAY, "tests.storage.journal.test_journal_crash"],
    ),
    Plant(
        "a journal file is used before its name is durable", "storage/journal/files.py",
        "        try:\n            self._fs.sync_directory(self._directory)\n", "        try:\n            pass\n", _FILES,
    ),
    Plant(
        "a disk that is full for a file not needed yet ends the bookie", "storage/journal/files.py",
        "            if error.errno not in (*NO_SPACE, *NO_FILES):\n                raise\n", "            raise\n", _FILES,
    ),
    Plant(
        "zeros that a full disk did not take count as written", "storage/journal/files.py",
        "            if blank is not None:\n                self._remove(blank.file)\n", "", _FILES,
    ),
    Plant(
        "a file keeps the header of another id", "storage/journal/files.py",
        "            self._write_header(blank.file, file_id)\n        self._name(", "            pass\n        self._name(", _FILES,
    ),
    Plant(
        "a spare may be overwritten before its old name is gone for good", "storage/journal/files.py",
        "            self._fs.sync_directory(self._directory)\n            self._spares.extend(freed)", "            self._spares.extend(freed)", _FILES,
    ),
    Plant(
        "the file of the mark is released", "storage/journal/files.py",
        "[i for i in self.ids if i < file_id]", "[i for i in self.ids if i <= file_id]", _FILES,
    ),
    Plant(
        "the newest backups are removed", "storage/journal/files.py",
        "for old in below[: max(0, len(below) - self._settings.max_backups)]:",
        "for old in below[min(len(below), self._settings.max_backups) :]:", _FILES,
    ),
    Plant(
        "spares of an empty journal are kept", "storage/journal/files.py",
        "if self.ids and self._settings.reuse else []", "if self._settings.reuse else []", _FILES,
    ),
    Plant(
        "a recycled file keeps its first old group", "storage/journal/files.py",
        'header.ljust(max(self._settings.block, 2 * HEADER_SIZE), b"\\0")', "header", _FILES,
    ),
    Plant(
        "a mark may move back", "storage/journal/log_mark.py",
        "        if position < self.position or position <= self._durable:\n            return\n", "", _MARK,
    ),
    Plant(
        "a mark moves before every directory has it", "storage/journal/log_mark.py",
        "        for directory in self._directories:\n            replace_file",
        "        self.position = position\n        for directory in self._directories:\n            replace_file", _MARK,
    ),
    Plant(
        "a longer mark file passes for a mark", "storage/journal/log_mark.py",
        "file.pread(_SIZE + 1, 0)", "file.pread(_SIZE, 0)", _MARK,
    ),
    Plant(
        "a damaged mark passes for a mark", "storage/journal/log_mark.py",
        "or data == _checked(data[: _MARK.size])", "or len(data) == _SIZE", _MARK,
    ),
    Plant(
        "the cookie of a directory is not compared", "storage/cookies.py",
        "        verify(cookie, _cookie_path(directory))\n", "        pass\n", _COOKIES,
    ),
    Plant(
        "a directory with data and without a cookie is taken", "storage/cookies.py",
        "        if directory in files.with_data:\n            raise", "        if False:\n            raise", _COOKIES,
    ),
    Plant(
        "locks of a start that failed are held", "storage/cookies.py",
        "        except BaseException:\n            self.release()\n            raise", "        except BaseException:\n            raise", _COOKIES,
    ),
    Plant(
        "a lost cookie passes for an expansion", "storage/cookies.py",
        "        if directory in before:\n", "        if False:\n", _COOKIES,
    ),
)  # fmt: skip

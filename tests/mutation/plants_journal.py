"""Plants in ``storage/journal`` and in what a start does with log marks and cookies."""

from .plant import Plant

_JOURNAL = ["tests.storage.journal.test_journal", "tests.storage.journal.test_journal_crash"]
_REPLAY = ["tests.storage.journal.test_reader", "tests.storage.journal.test_replay"]
_FORMAT = ["tests.storage.journal.test_format"]
_FILES = ["tests.storage.journal.test_files", "tests.storage.journal.test_journal"]
_SIZES = ["tests.storage.journal.test_known_sizes", "tests.storage.journal.test_replay"]
_CRASHES = "tests.storage.journal.test_journal_crash"
_LOG_MARK = ["tests.storage.journal.test_log_mark"]
_COOKIES = ["tests.storage.test_cookies"]
_MONITOR = ["tests.bookie.lifecycle.test_disk_monitor"]
_SERVICE_DISKS = ["tests.bookie.lifecycle.test_service_disks"]

PLANTS = (
    Plant(
        "backups of journal files fill the disk", "storage/journal/files.py",
        "self._fs.usage(self._directory)[1] >= self._settings.max_size", "True",
        ["tests.storage.journal.test_files"], where="JournalFiles.release",
    ),
    Plant(
        "a bookie whose journals have filled their disk cannot start", "storage/journal/replay.py",
        "error.errno not in NO_SPACE", "True", ["tests.bookie.test_full_journal"], where="JournalReplay._finish",
    ),
    Plant(
        "a journal without a file descriptor for the next file ends", "storage/journal/journal.py",
        "old is None or error.errno not in NO_FILES", "True", ["tests.storage.journal.test_journal"],
        where="Journal._next_file",
    ),
    Plant(
        "a release without file descriptors ends the journal", "storage/journal/journal.py",
        "isinstance(error, OSError) and error.errno in NO_FILES", "False", ["tests.storage.journal.test_journal"],
        where="Journal.release",
    ),
    Plant(
        "a file keeps the name that was not made durable", "storage/journal/files.py",
        "self._fs.rename(path, spare)", "", ["tests.storage.journal.test_files"], where="JournalFiles._name",
    ),
    Plant(
        "a spare that got no file descriptor is lost", "storage/journal/files.py",
        "self._spares.appendleft(path)", "pass", ["tests.storage.journal.test_files"],
        where="JournalFiles._open_spare",
    ),
    Plant(
        "a spare that cannot be opened ends the journal", "storage/journal/files.py",
        "error.errno in NO_FILES", "True", ["tests.storage.journal.test_files"], where="JournalFiles._open_spare",
    ),
    Plant(
        "an old file that cannot be read ends the journal", "storage/journal/files.py",
        "error.errno in NO_FILES", "True", ["tests.storage.journal.test_files"], where="JournalFiles._is_itself",
    ),
    Plant(
        "an old file is deleted for want of a descriptor", "storage/journal/files.py",
        "error.errno in NO_FILES", "False", ["tests.storage.journal.test_files"], where="JournalFiles._is_itself",
    ),
    Plant(
        "a log mark counts as durable because it was read", "storage/journal/log_mark.py",
        "JournalPosition()", "self.position", ["tests.storage.journal.test_log_mark"], where="LogMark.__init__",
    ),
    Plant(
        "a file is recycled under its old name once more", "storage/journal/files.py",
        "identity is None or identity.file_id == file_id", "True", ["tests.storage.journal.test_files"],
        where="JournalFiles._is_itself",
    ),
    Plant(
        "a journal is written after it has failed", "storage/journal/journal.py",
        "if self._failure is not None: ...", "if self._failure is None:\n    return\nif not self._replayed: ...",
        _JOURNAL, where="Journal._check",
    ),
    Plant(
        "a journal whose sync failed does not know it", "storage/journal/journal.py",
        "try: ...\nexcept Exception as error:\n"
        "    self._failure = error\n    raise",
        "try: ...\nexcept Exception:\n    raise", _JOURNAL, where="Journal.sync",
    ),
    Plant(
        "a group behind unsynced ones is durable by its own flag", "storage/journal/journal.py",
        "sync and self._is_synced", "sync", _JOURNAL, where="Journal._write",
    ),
    Plant(
        "a group is begun behind unsynced ones", "storage/journal/journal.py",
        "not self._is_synced", "False", _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "a group is begun beyond the blocks on record", "storage/journal/journal.py",
        "not self._files.has_room(start + size)", "False", _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "the zeros behind a begun group lie beyond the blocks on record", "storage/journal/journal.py",
        "self._files.has_room(start + size)", "self._files.has_room(end)", _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "a group is begun in a file that is used up", "storage/journal/journal.py",
        "start > self._settings.max_size", "False", _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "a group is begun after a failure", "storage/journal/journal.py",
        "self._failure is not None", "False", _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "a journal does not know that a begun group failed", "storage/journal/journal.py",
        "self._failure = failure", "", _JOURNAL, where="Journal.end_group",
    ),
    Plant(
        "a group counts as written when it is begun", "storage/journal/journal.py",
        "self._begun_bytes, self._begun_end = sum(map(len, records)), end",
        "self._begun_bytes, self._begun_end = sum(map(len, records)), end\n"
        "self.position = JournalPosition(self._identity.file_id, end)",
        _JOURNAL, where="Journal.begin_group",
    ),
    Plant(
        "a journal is written without being replayed", "storage/journal/journal.py",
        "not self._replayed", "False", _JOURNAL, where="Journal._next_file",
    ),
    Plant(
        "what was written counts as durable", "storage/journal/journal.py",
        "if at_once: ...\nelse: ...", "if at_once or not sync: ...\nelse: ...", _JOURNAL, where="Journal._write",
    ),
    Plant(
        "the end of a journal is not marked", "storage/journal/journal.py",
        "self._write(file, (), sync=True, last=True)", "self._write(file, (), sync=True)", [*_JOURNAL, *_REPLAY],
        where="Journal.close",
    ),
    Plant(
        "a journal marks its end after a failure", "storage/journal/journal.py",
        "self._failure is None and file is not None", "file is not None", _JOURNAL, where="Journal.close",
    ),
    Plant(
        "zeros at the end of a group's block are left out", "storage/journal/format.py",
        "SECTOR + (-end - SECTOR) % block", "-end % block", _FORMAT, where="pack_group",
    ),
    Plant(
        "no zeros follow a group", "storage/journal/format.py",
        "bytes(SECTOR + (-end - SECTOR) % block)", "b''", _FORMAT, where="pack_group",
    ),
    Plant(
        "any byte behind the zeros after a group is a torn tail", "storage/journal/reader.py",
        "self._file.pread(SECTOR, offset)", "self._file.pread(1 << 30, offset)", _REPLAY, where="JournalReader.tail",
    ),
    Plant(
        "zeros at the beginning of a sector are no torn tail", "storage/journal/reader.py",
        "self._file.pread(SECTOR, offset)", "self._file.pread(4, offset)", _REPLAY, where="JournalReader.tail",
    ),
    Plant(
        "a torn tail is none", "storage/journal/reader.py",
        "any(self._file.pread(SECTOR, offset))", "False", _REPLAY, where="JournalReader.tail",
    ),
    Plant(
        "the tail is searched for one trailer", "storage/journal/reader.py",
        "data.find(nonce, at + 1)", "-1", _REPLAY, where="JournalReader.tail",
    ),
    Plant(
        "only the first piece of a tail is searched", "storage/journal/reader.py",
        "offset += len(data)", "break", _REPLAY, where="JournalReader.tail",
    ),
    Plant(
        "a group of another place is replayed", "storage/journal/reader.py",
        "trailer is None or trailer.start != start", "trailer is None", _REPLAY, where="JournalReader._group",
    ),
    Plant(
        "the checksum of a group is not compared", "storage/journal/reader.py",
        "if not group_matches(data, trailer):\n    return None", "", _REPLAY, where="JournalReader._group",
    ),
    Plant(
        "an old group of a recycled file is replayed", "storage/journal/format.py",
        "if nonce != identity.nonce or file_id != identity.file_id:\n    return None", "", [*_FORMAT, *_REPLAY],
        where="parse_trailer",
    ),
    Plant(
        "a replay goes on behind the end of a file", "storage/journal/reader.py",
        "self.finished = group.trailer.last", "", _REPLAY, where="JournalReader._own_records",
    ),
    Plant(
        "an older file that lost its header, too, counts as one without records", "storage/journal/replay.py",
        "is_continued and durable > self.end", "reader.identity is not None and is_continued and durable > self.end",
        _REPLAY, where="JournalReplay._judge",
    ),
    Plant(
        "a file that ends below what was durable passes", "storage/journal/replay.py",
        "durable > self.end", "False", _REPLAY, where="JournalReplay._judge",
    ),
    Plant(
        "damage behind the end of the last file passes", "storage/journal/replay.py",
        "tail.durable > self.end", "False", _REPLAY, where="JournalReplay._judge",
    ),
    Plant(
        "a torn file that is not the last passes", "storage/journal/replay.py",
        "if tail.torn: ...\nreturn", "if False: ...\nreturn", _REPLAY, where="JournalReplay._judge",
    ),
    Plant(
        "a missing journal file passes", "storage/journal/replay.py",
        "durable is not None and ids[0] <= durable.file_id and durable.file_id not in ids", "False and durable",
        _REPLAY, where="JournalReplay._check_predecessor",
    ),
    Plant(
        "a log mark whose file is missing passes", "storage/journal/replay.py",
        "not ids or ids[0] != log_mark.file_id", "not ids", _REPLAY, where="JournalReplay.records",
    ),
    Plant(
        "a file that ends before the log mark passes", "storage/journal/replay.py",
        "start > file.size()", "False", _REPLAY, where="JournalReplay.records",
    ),
    Plant(
        "a replayed tail is not written again", "storage/journal/replay.py",
        "file.pwrite(file.pread(min(CHUNK, reader.end - offset), offset), offset)", "pass",
        [*_REPLAY, "tests.bookie.test_failed_sync_crash"], where="JournalReplay._finish",
    ),
    Plant(
        "a replayed tail is synced with its end mark only", "storage/journal/replay.py",
        "file.sync()", "", [*_REPLAY, "tests.bookie.test_failed_sync_crash"], where="JournalReplay._finish",
    ),
    Plant(
        "the end mark of a replay is not synced", "storage/journal/replay.py",
        "file.sync(metadata=True)", "", [*_REPLAY, "tests.storage.journal.test_journal_crash"],
        where="JournalReplay._finish",
    ),
    Plant(
        "a journal file is used before its name is durable", "storage/journal/files.py",
        "self._fs.sync_directory(self._directory)", "pass", _FILES, where="JournalFiles._name",
    ),
    Plant(
        "a disk that is full for a file not needed yet ends the bookie", "storage/journal/files.py",
        "if error.errno not in (*NO_SPACE, *NO_FILES, errno.EROFS): ...", "...", _FILES, where="JournalFiles.prepare",
    ),
    Plant(
        "a journal disk that takes no writes is not noticed", "bookie/lifecycle/disk_monitor.py",
        "LOCK_NAME in names and not self._fs.takes_writes(posixpath.join(directory, LOCK_NAME))",
        "directory not in self._journals and LOCK_NAME in names and not "
        "self._fs.takes_writes(posixpath.join(directory, LOCK_NAME))",
        _SERVICE_DISKS, where="DiskMonitor._what_is_wrong",
    ),
    Plant(
        "the disk of an index directory is not looked at", "bookie/lifecycle/disk_monitor.py",
        "{directory: self._look_at(directory) for directory in self._indexes}",
        "{directory: ('', (0, 0), (0, 0)) for directory in self._indexes}",
        _SERVICE_DISKS, where="DiskMonitor._survey",
    ),
    Plant(
        "recovery adds are taken though the disk of the journal or the index takes no writes",
        "bookie/lifecycle/disk_monitor.py", "any((*wrong, *indexes, *self._stuck))", "any(wrong)",
        _MONITOR, where="DiskMonitor.check",
    ),
    Plant(
        "a journal disk that takes no writes counts as lost, which ends the bookie", "bookie/lifecycle/disk_monitor.py",
        "d not in self._stuck", "True", _SERVICE_DISKS, where="DiskMonitor.check",
    ),
    Plant(
        "a bookie whose journal has its files on a disk that is gone is writable again",
        "bookie/lifecycle/disk_monitor.py", "self._fs.disk(directory) != self._first_disks[directory]", "False",
        _MONITOR, where="DiskMonitor._what_is_wrong",
    ),
    Plant(
        "a journal disk that is read-only at the first check may be replaced", "bookie/lifecycle/disk_monitor.py",
        "self._first_disks[directory] = self._fs.disk(directory)",
        "if self._fs.takes_writes(posixpath.join(directory, LOCK_NAME)):\n"
        "    self._first_disks[directory] = self._fs.disk(directory)",
        _MONITOR, where="DiskMonitor._what_is_wrong",
    ),
    Plant(
        "a fence ends a bookie whose journal takes no writes", "bookie/bookie.py",
        "ledger_id % len(self._commits) in self.mode.refusing", "False", ["tests.bookie.test_bookie"],
        where="Bookie._is_refused",
    ),
    Plant(
        "nobody tells the bookie which journals take no writes", "bookie/lifecycle/service.py",
        "self._registration.mode.refusing = disks.refusing(self._paths)", "pass",
        _SERVICE_DISKS, where="BookieService._disks_seen",
    ),
    Plant(
        "an index directory that cannot be written is no obstacle of a compaction", "bookie/lifecycle/admin.py",
        "self._disks.unusable_indexes.items()", "()", _SERVICE_DISKS,
        where="BookieAdmin._troubles",
    ),
    Plant(
        "a read-only disk ends the bookie for a file not needed yet", "storage/journal/files.py",
        "(*NO_SPACE, *NO_FILES, errno.EROFS)", "(*NO_SPACE, *NO_FILES)", _FILES, where="JournalFiles.prepare",
    ),
    Plant(
        "half a file that a read-only disk keeps ends the bookie", "storage/journal/files.py",
        "error.errno != errno.EROFS", "True", _FILES, where="JournalFiles._remove",
    ),
    Plant(
        "an old file that a read-only disk keeps ends the bookie", "storage/journal/files.py",
        "error.errno == errno.EROFS", "False", ["tests.storage.journal.test_journal"], where="JournalFiles.release",
    ),
    Plant(
        "a stop on a read-only journal disk fails", "storage/journal/journal.py",
        "not isinstance(error, OSError) or error.errno != errno.EROFS", "True",
        ["tests.bookie.lifecycle.test_service_disks"], where="Journal.close",
    ),
    Plant(
        "zeros that a full disk did not take count as written", "storage/journal/files.py",
        "if prepared is not None:\n    self._remove(prepared.file)", "", _FILES, where="JournalFiles.prepare",
    ),
    Plant(
        "a file keeps the header of another id", "storage/journal/files.py",
        "self._write_header(prepared.file, file_id)", "pass", _FILES, where="JournalFiles.begin_next",
    ),
    Plant(
        "a spare may be overwritten before its old name is gone for good", "storage/journal/files.py",
        "self._fs.sync_directory(self._directory)", "", _FILES, where="JournalFiles.release",
    ),
    Plant(
        "the file of the log mark is released", "storage/journal/files.py",
        "i < file_id", "i <= file_id", _FILES, where="JournalFiles.release",
    ),
    Plant(
        "the newest backups are removed", "storage/journal/files.py",
        "below[: max(0, len(below) - self._settings.max_backups)]",
        "below[min(len(below), self._settings.max_backups) :]", _FILES, where="JournalFiles.release",
    ),
    Plant(
        "spares of an empty journal are kept", "storage/journal/files.py",
        "self.ids and self._settings.reuse", "self._settings.reuse", _FILES, where="JournalFiles._collect_spares",
    ),
    Plant(
        "a recycled file keeps its first old group", "storage/journal/files.py",
        'header.ljust(max(self._settings.block, 2 * HEADER_SIZE), b"\\0")', "header", _FILES,
        where="JournalFiles._write_header",
    ),
    Plant(
        "a journal file that was cut passes", "storage/journal/replay.py",
        "size < least", "False", _REPLAY, where="JournalReplay._check_size",
    ),
    Plant(
        "a journal file of zeros passes for one of Apache's", "storage/journal/replay.py",
        "self._sizes.of(reader.file_id)", "False", _REPLAY, where="JournalReplay._judge",
    ),
    Plant(
        "a cut file without a group is deleted", "storage/journal/replay.py",
        "if empty:\n    self._check_size(file, file_id)", "", _REPLAY, where="JournalReplay._is_empty",
    ),
    Plant(
        "a file that says where it ends must have its zeros", "storage/journal/replay.py",
        "if reader.finished:\n    return\nself._check_size(file, reader.file_id)",
        "self._check_size(file, reader.file_id)\nif reader.finished:\n    return", _REPLAY,
        where="JournalReplay._judge",
    ),
    Plant(
        "a missing newest file passes", "storage/journal/replay.py",
        "self._check_newest()", "", _REPLAY, where="JournalReplay.records",
    ),
    Plant(
        "the size of a new file is not on record", "storage/journal/files.py",
        "self.sizes.record(file_id, prepared.filled)", "", _REPLAY, where="JournalFiles.begin_next",
    ),
    Plant(
        "a size is on record before the file has its name", "storage/journal/files.py",
        "self._name(prepared, self.path(file_id))\nself.sizes.record(file_id, prepared.filled)",
        "self.sizes.record(file_id, prepared.filled)\nself._name(prepared, self.path(file_id))",
        [_CRASHES + ".CrashTests.test_rotation"],
        where="JournalFiles.begin_next",
    ),
    Plant(
        "the size of a recycled file may be in memory only", "storage/journal/files.py",
        "if recycled:\n    self._write_end(file)", "", [_CRASHES + ".FailedSyncTests.test_spares"],
        where="JournalFiles._prepare_file",
    ),
    Plant(
        "a larger size is on record before it is durable", "storage/journal/files.py",
        "file.sync(metadata=True)", "", [_CRASHES + ".CrashTests.test_growing"], where="JournalFiles.make_room",
    ),
    Plant(
        "a file grows by its groups", "storage/journal/journal.py",
        "self._files.make_room(file, start, start + sum(map(len, group)))", "", _REPLAY, where="Journal._write",
    ),
    Plant(
        "the zeros after a group are beyond the size on record", "storage/journal/journal.py",
        "start + sum(map(len, group))", "end", _REPLAY, where="Journal._write",
    ),
    Plant(
        "the last group of a file makes it grow", "storage/journal/files.py",
        "end > known.size >= settings.max_size", "False", _FILES, where="JournalFiles.make_room",
    ),
    Plant(
        "zeros are written over the group before", "storage/journal/files.py",
        "file.write_zeros(size - start, start)", "file.write_zeros(size - start + SECTOR, start - SECTOR)",
        [_CRASHES + ".CrashTests.test_growing"], where="JournalFiles.make_room",
    ),
    Plant(
        "small groups are written to blocks that are only allocated", "storage/journal/files.py",
        "end <= (self._written if is_small else known.size)", "end <= known.size", _FILES,
        where="JournalFiles.make_room",
    ),
    Plant(
        "zeros are written in front of each small group", "storage/journal/files.py",
        "self._written = size", "pass", _FILES, where="JournalFiles.make_room",
    ),
    Plant(
        "zeros are written in front of large groups", "storage/journal/files.py",
        "end - start <= _SMALL", "True", _FILES, where="JournalFiles.make_room",
    ),
    Plant(
        "a next file counts as written as far as the one before", "storage/journal/files.py",
        "self._written, self._may_grow = prepared.filled, True", "self._may_grow = True", _FILES,
        where="JournalFiles.begin_next",
    ),
    Plant(
        "a group waits for all zeros of a file", "storage/journal/files.py",
        "min(_AT_ONCE, settings.preallocate)", "settings.preallocate", _FILES, where="JournalFiles.make_room",
    ),
    Plant(
        "a full disk is asked for room before each group", "storage/journal/files.py",
        "not self._may_grow", "False", _FILES, where="JournalFiles.make_room",
    ),
    Plant(
        "a deleted file stays on record", "storage/journal/files.py",
        "self.sizes.forget(file_id)", "", _SIZES, where="JournalFiles.drop",
    ),
    Plant(
        "sizes are not synced", "storage/journal/known_sizes.py",
        "self._file.sync(metadata=True)", "", _SIZES, where="KnownSizes._write",
    ),
    Plant(
        "the file of the sizes may be without a name", "storage/journal/known_sizes.py",
        "self._fs.sync_directory(self._directory)", "", _SIZES, where="KnownSizes.open",
    ),
    Plant(
        "damaged sizes count", "storage/journal/known_sizes.py",
        "_SUM.pack(crc32c(sizes)) == data[_SIZES.size :]", "True", _REPLAY, where="KnownSizes._parse",
    ),
    Plant(
        "only the newest size is kept", "storage/journal/known_sizes.py",
        "self.previous = self.newest", "pass", _SIZES, where="KnownSizes.record",
    ),
    Plant(
        "a log mark may move back", "storage/journal/log_mark.py",
        "if position < self.position or position <= self._durable:\n    return", "", _LOG_MARK, where="LogMark.advance",
    ),
    Plant(
        "a log mark moves before every directory has it", "storage/journal/log_mark.py",
        "numbers = _POSITION.pack(position.file_id, position.offset)",
        "numbers = _POSITION.pack(position.file_id, position.offset)\nself.position = position",
        _LOG_MARK, where="LogMark.advance",
    ),
    Plant(
        "a longer log mark file passes for a log mark", "storage/journal/log_mark.py",
        "_SIZE + 1", "_SIZE", _LOG_MARK, where="_valid",
    ),
    Plant(
        "a damaged log mark passes for a log mark", "storage/journal/log_mark.py",
        "data == _checked(numbers)", "len(data) > _POSITION.size", _LOG_MARK, where="_valid",
    ),
    Plant(
        "the cookie of a directory is not compared", "storage/cookies.py",
        "verify(cookie, _cookie_path(directory))", "pass", _COOKIES, where="must_stamp",
    ),
    Plant(
        "a directory with data and without a cookie is taken", "storage/cookies.py",
        "directory in files.with_data", "False", _COOKIES, where="must_stamp",
    ),
    Plant(
        "locks of a start that failed are held", "storage/cookies.py",
        "self.release()", "", _COOKIES, where="DirectoryLocks.__init__",
    ),
    Plant(
        "a lost cookie passes for an expansion", "storage/cookies.py",
        "directory in before", "False", _COOKIES, where="_check_expansion",
    ),
)  # fmt: skip

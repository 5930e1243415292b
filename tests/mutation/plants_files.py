"""Plants in the file system of the operating system: what is synced, cut short, refused."""

from .plant import Plant

_FILES = ["tests.storage.files.test_filesystem", "tests.storage.files.test_filesystem_calls"]

PLANTS = (
    Plant(
        "a pipe is opened as a file", "storage/files/filesystem.py",
        "not stat.S_ISREG(os.fstat(fd).st_mode)", "False", _FILES, where="RealFileSystem.open",
    ),
    Plant(
        "zeros past the page cache are written over each other", "storage/files/filesystem.py",
        "offset + start", "offset", _FILES, where="DirectFile.write_zeros",
    ),
    Plant(
        "a pipe in the place of a file is waited for", "storage/files/filesystem.py",
        "self._access | os.O_CLOEXEC | os.O_NONBLOCK", "self._access | os.O_CLOEXEC", _FILES,
        where="RealFileSystem.open",
    ),
    Plant(
        "a pipe that is refused stays open", "storage/files/filesystem.py",
        "os.close(fd)", "pass", _FILES, where="RealFileSystem.open",
    ),
    Plant(
        "an error of a file does not say which", "storage/files/filesystem.py",
        "error.filename = self.path", "pass", _FILES, where="_Named.__exit__",
    ),
    Plant(
        "a file of a read-only disk cannot be read", "storage/files/filesystem.py",
        "error.errno == errno.EROFS and not create", "False", _FILES, where="RealFileSystem.open",
    ),
    Plant(
        "a write to a read-only disk is a bad descriptor", "storage/files/filesystem.py",
        "error.errno == errno.EBADF and not self.is_writable", "False", _FILES, where="_Named.__exit__",
    ),
    Plant(
        "a read-only disk calls the new size of a file invalid", "storage/files/filesystem.py",
        "not self._named.is_writable", "False", _FILES, where="RealFile.truncate",
    ),
    Plant(
        "reserved blocks count for no process", "storage/files/proc_files.py",
        're.search(rb"^Uid:(\\s+\\d+){3}\\s+0$", status, re.M)', "False", _FILES, where="takes_reserved_blocks",
    ),
    Plant(
        "a directory is not synced", "storage/files/filesystem.py",
        "try:\n    os.fsync(fd)\nfinally: ...", "...", _FILES, where="RealFileSystem.sync_directory",
    ),
    Plant(
        "the failed sync of a directory is ignored", "storage/files/filesystem.py",
        "try: ...\nfinally: ...",
        "try: ...\nexcept OSError:\n"
        "    return\nfinally: ...",
        _FILES, where="RealFileSystem.sync_directory",
    ),
    Plant(
        "a new directory's name is not durable", "storage/files/filesystem.py",
        "self.sync_directory(parent)", "", _FILES, where="RealFileSystem.make_directories",
    ),
    Plant(
        "a sync does nothing", "storage/files/filesystem.py",
        "os.fdatasync(self._fd)", "pass", _FILES, where="RealFile.sync",
    ),
    Plant(
        "metadata are not synced", "storage/files/filesystem.py",
        "os.fsync(self._fd)", "os.fdatasync(self._fd)", _FILES, where="RealFile.sync",
    ),
    Plant(
        "an ordinary durable write is not synced", "storage/files/filesystem.py",
        "if durable: ...", "if False: ...", _FILES, where="RealFile.pwritev",
    ),
    Plant(
        "a durable direct write carries no flag", "storage/files/filesystem.py",
        "os.pwritev(self._fd, (piece[written:],), offset + written, flags)",
        "os.pwritev(self._fd, (piece[written:],), offset + written, 0)", _FILES, where="DirectFile._write_piece",
    ),
    Plant(
        "a long durable direct write is not synced", "storage/files/filesystem.py",
        "at_once and self._direct", "_DURABLE and self._direct", _FILES, where="DirectFile.pwritev",
    ),
    Plant(
        "a direct write that was refused is not synced", "storage/files/filesystem.py",
        "at_once and self._direct", "at_once", _FILES, where="DirectFile.pwritev",
    ),
    Plant(
        "direct writes stay direct after a refusal", "storage/files/filesystem.py",
        "fcntl.fcntl(self._fd, fcntl.F_SETFL, fcntl.fcntl(self._fd, fcntl.F_GETFL) & ~os.O_DIRECT)", "pass", _FILES,
        where="DirectFile._must_be_refusal",
    ),
    Plant(
        "any failed direct write goes through the cache", "storage/files/filesystem.py",
        "error.errno not in REFUSED", "False", _FILES, where="DirectFile._must_be_refusal",
    ),
    Plant(
        "a call that the system lacks is a failure of the disk", "storage/interfaces.py",
        "errno.ENOSYS", "errno.EINVAL", _FILES, where="",
    ),
    Plant(
        "each file that is not read directly is a line of the log", "storage/files/filesystem.py",
        "report, self._report = self._report, None", "report = self._report", _FILES,
        where="RealFileSystem._direct_refused",
    ),
    Plant(
        "a read fails with its hint", "storage/files/filesystem.py",
        "suppress(OSError)", "suppress(KeyError)", _FILES, where="RealFile.will_read",
    ),
    Plant(
        "a log is opened anew for each read where no read tells what memory holds", "storage/entry_log/reader.py",
        "e.errno not in REFUSED", "e.errno != 95", ["tests.storage.entry_log.test_reader"],
        where="EntryLogReader._open_resident",
    ),
    Plant(
        "a direct read gives what lies before its place", "storage/files/filesystem.py",
        "view[offset - start : max(offset - start, min(found, end - start))]",
        "view[0 : max(offset - start, min(found, end - start))]", _FILES, where="DirectFile._read_blocks",
    ),
    Plant(
        "a direct read gives more than was asked for", "storage/files/filesystem.py",
        "min(found, end - start)", "found", _FILES, where="DirectFile._read_blocks",
    ),
    Plant(
        "a short write is not completed", "storage/files/filesystem.py",
        "written < len(data)", "False", _FILES, where="RealFile.pwrite",
    ),
    Plant(
        "the rest of a short write goes to its beginning", "storage/files/filesystem.py",
        "offset + written", "offset", _FILES, where="RealFile.pwrite",
    ),
    Plant(
        "a direct write that is refused is not made", "storage/files/filesystem.py",
        "if written < len(piece): ...", "", _FILES, where="DirectFile._write_piece",
    ),
    Plant(
        "the rest of a short direct write goes to its beginning", "storage/files/filesystem.py",
        "os.pwritev(self._fd, (piece[written:],), offset + written, flags)",
        "os.pwritev(self._fd, (piece[written:],), offset, flags)", _FILES, where="DirectFile._write_piece",
    ),
    Plant(
        "a short read is not completed", "storage/files/filesystem.py",
        "len(data) == size", "data", _FILES, where="RealFile.pread",
    ),
    Plant(
        "a used buffer is written with its old bytes", "storage/files/filesystem.py",
        "buffer[:at]", "buffer[: -(-at // 512) * 512]", _FILES, where="_gathered",
    ),
    Plant(
        "a part that spans buffers begins anew in the next one", "storage/files/filesystem.py",
        "memoryview(part)[done:]", "memoryview(part)[: len(part) - done]", _FILES, where="_gathered",
    ),
    Plant(
        "pieces of a long write go to one place", "storage/files/filesystem.py",
        "offset += len(piece)", "", _FILES, where="DirectFile.pwritev",
    ),
    Plant(
        "a buffer is lost by a failed write", "storage/files/filesystem.py",
        "try: ...\nfinally: ...",
        "try: ...\nexcept MemoryError:\n"
        "    raise\n...",
        _FILES, where="_BufferPool.borrowed",
    ),
    Plant(
        "resident reads give what memory holds of them", "storage/files/page_cache.py",
        "data if len(data) == size else None", "data", _FILES, where="read_cached",
    ),
    Plant(
        "a lock is shared", "storage/files/filesystem.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", _FILES, where="RealFileSystem.lock",
    ),
    Plant(
        "a lock that is held is taken for granted", "storage/files/filesystem.py",
        'raise DirectoryLockedError(f"{path} is locked by another process") from None', "return FileLock(-1)", _FILES,
        where="RealFileSystem.lock",
    ),
    Plant(
        "a new file may be an old one", "storage/files/filesystem.py",
        "os.O_CREAT | os.O_EXCL", "os.O_CREAT", _FILES, where="RealFileSystem.open",
    ),
    Plant(
        "a listing has no order", "storage/files/filesystem.py",
        "sorted(os.listdir(path))", "os.listdir(path)", _FILES, where="RealFileSystem.list",
    ),
    Plant(
        "usage counts what only root may use", "storage/files/filesystem.py",
        "found.f_bavail * found.f_frsize", "found.f_bfree * found.f_frsize", _FILES, where="RealFileSystem.usage",
    ),
    Plant(
        "two threads read from the page cache into one buffer", "storage/files/page_cache.py",
        "_spare.pop()", "_spare[0]", _FILES, where="_read",
    ),
    Plant(
        "the first read of a range without bytes fails", "storage/files/page_cache.py",
        "memoryview(bytearray())", 'memoryview(b"")', _FILES, where="_read",
    ),
    Plant(
        "what memory holds in part counts as held", "storage/files/page_cache.py",
        "len(data) < stops[-1]", "False", ["tests.storage.files.test_filesystem"],
        where="read_cached_each",
    ),
)  # fmt: skip

"""Plants in ``storage``."""

from .plant import Plant

_JOURNAL = ["tests.storage.journal.test_journal", "tests.storage.journal.test_journal_crash"]

PLANTS = (
    Plant(
        "a file is replaced without a sync", "storage/replace.py",
        "file.sync(metadata=True)", "pass", ["tests.storage.test_replace"],
    ),
    Plant(
        "a replaced file's directory is not synced", "storage/replace.py",
        "fs.sync_directory(posixpath.dirname(path))", "pass", ["tests.storage.test_replace"],
    ),
    Plant(
        "the highest mark of the directories is taken", "storage/journal/log_mark.py",
        "min(valid, default=JournalPosition())", "max(valid, default=JournalPosition())",
        ["tests.storage.journal.test_log_mark"],
    ),
    Plant(
        "a new journal file follows one that is not durable", "storage/journal/journal.py",
        "            if self.durable != self.position:\n                self._sync(old)\n", "", _JOURNAL,
    ),
    Plant(
        "a torn row passes for a row", "storage/index/run_index.py",
        "good = _crc(row) == values[7] and row.first <= row.last", "good = row.first <= row.last",
        ["tests.storage.index.test_run_index"],
    ),
)  # fmt: skip

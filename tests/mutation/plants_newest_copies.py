"""Plants in what makes every read give the newest copy of an entry."""

from .plant import Plant

_LIVES = ["tests.storage.test_ledger_storage_contract"]

PLANTS = (
    Plant(
        "rows that were packed stay in the index beside newer ones", "storage/index/run_index.py",
        "            self._insert(blocks.take_out(late))\n", "            pass\n", _LIVES,
    ),
    Plant(
        "a copy of an entry replaces one that was added while it was made", "storage/index/rows.py",
        "        if row.log_id not in moved_from:\n            continue\n", "", _LIVES,
    ),
    Plant(
        "a merge of index blocks drops the last row that it moves", "storage/index/block_writer.py",
        "            taken += rows[:end]\n", "            taken += rows[: end - 1]\n", _LIVES,
    ),
    Plant(
        "rows in memory outlive newer ones that are packed", "storage/directory_storage.py",
        "                self.recent.discard(ledger_id, first, last)\n        self.recent_blocks.add(",
        "                pass\n        self.recent_blocks.add(", _LIVES,
    ),
    Plant(
        "a packed row in memory goes on behind a newer one", "storage/index/recent_blocks.py",
        "return row_of_packed(packed) if last_of(packed) < newer else None", "return row_of_packed(packed)", _LIVES,
    ),
    Plant(
        "a newer packed row is looked for in its block only", "storage/index/recent_blocks.py",
        "        if not behind and index < len(self._firsts):\n", "        if False:\n",
        ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "rows that were replaced let older ones through", "storage/index/recent_blocks.py",
        "                return None  # older flushes", "                continue  # older flushes",
        ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "rows that were looked up hide newer copies in the write caches", "storage/directory_storage.py",
        "                self.looked_up.add(self._not_newer(rows))\n", "                self.looked_up.add(rows)\n",
        ["tests.storage.test_directory_storage", "tests.storage.test_ledger_storage"],
    ),
    Plant(
        "a flush that is forgotten lets older ones through", "storage/index/recent_blocks.py",
        "tuple(takewhile(lambda flush: flush.log_ids", "tuple(filter(lambda flush: flush.log_ids",
        ["tests.storage.index.test_recent_blocks"],
    ),
    Plant(
        "the flushing half gives older copies behind the first entry", "storage/directory_storage.py",
        "            if newer <= held.last:\n", "            if False:\n", _LIVES,
    ),
    Plant(
        "a read from the page cache goes on behind a newer copy", "storage/directory_storage.py",
        "        count = self.next_cached(ledger_id, entry_id) - entry_id\n", "        count = 1 << 62\n", _LIVES,
    ),
    Plant(
        "a window goes on behind a newer copy", "storage/directory_storage.py",
        "run.slice(entry_id, count) if run is not None and run.count > count else run", "run",
        ["tests.storage.test_ledger_storage_windows"],
    ),
    Plant(
        "a load goes on behind a newer copy", "storage/ledger_storage.py",
        "        if newest < run.count:\n", "        if False:\n", _LIVES,
    ),
    Plant(
        "a load that was overtaken by a flush goes on behind a newer copy", "storage/ledger_storage.py",
        "        if epoch != self.epoch:\n", "        if False:\n", _LIVES,
    ),
    Plant(
        "a flush that ends during a load is not noticed", "storage/ledger_storage.py",
        "        self._in_checkpoint = False\n        self.epoch += 1\n", "        self._in_checkpoint = False\n", _LIVES,
    ),
    Plant(
        "a deletion during a load is not noticed", "storage/ledger_storage.py",
        "        self.epoch += 1\n        for ledger_id in ledger_ids:\n", "        for ledger_id in ledger_ids:\n", ["tests.storage.test_ledger_storage"],
    ),
    Plant(
        "the read cache takes an entry of which a newer copy came meanwhile", "storage/ledger_storage.py",
        "        if newest and run.ledger_id in", "        if run.ledger_id in", ["tests.storage.test_ledger_storage"],
    ),
    Plant(
        "a mixed run leaves older copies in the read cache", "storage/ledger_storage.py",
        "        self._read_cache.discard_mixed(run)\n", "", _LIVES,
    ),
    Plant(
        "windows outlive newer copies", "storage/ledger_storage.py",
        "        self._windows.discard(run)\n", "", ["tests.storage.test_ledger_storage_windows"],
    ),
    Plant(
        "a mixed run leaves older copies in windows", "storage/ledger_storage.py",
        "        self._windows.discard_mixed(run)\n", "", ["tests.storage.test_ledger_storage_windows"],
    ),
    Plant(
        "rows that were looked up outlive newer copies", "storage/directory_storage.py",
        "        self.looked_up.discard(run.ledger_id, run.first, run.last)\n", "", _LIVES,
    ),
    Plant(
        "rows that were looked up outlive newer copies of a mixed run", "storage/directory_storage.py",
        "                self.looked_up.discard(ledger_id, entry_id, entry_id)\n", "                pass\n", _LIVES,
    ),
    Plant(
        "rows that the read lane looked up together outlive newer copies", "storage/directory_storage.py",
        "        if n_written != self._n_written:\n            return None\n", "", _LIVES,
    ),
)  # fmt: skip

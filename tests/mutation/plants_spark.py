"""Plants in the sink and in the streams of Spark."""

from .plant import Plant

_PUBLISHING = ["tests.spark.test_publishing"]
_STREAM = ["tests.spark.test_stream"]
_COMMITS, _WRITING, _PLANS = "spark/publishing.py", "spark/ledger_writing.py", "spark/reading.py"

PLANTS = (
    Plant(
        "a late attempt keeps its ledger", _WRITING,
        "        if await self.is_published():\n            raise AlreadyPublishedError\n", "", _PUBLISHING,
    ),
    Plant(
        "a task that failed leaves its ledgers", _WRITING,
        "    except BaseException:\n        THREAD.wait(writer.remove)\n", "    except BaseException:\n", _PUBLISHING,
    ),
    Plant(
        "a commit leaves what other attempts wrote", _COMMITS,
        "        await self._remove_leftovers(key, first, kept, previous is not None)\n", "", _PUBLISHING,
    ),
    Plant(
        "a commit removes what another one published", _COMMITS,
        "kept = {row.ledger_id for row in await self._rows(published)} | {published.rows_ledger}", "kept: set[int] = set()",
        _PUBLISHING,
    ),
    Plant(
        "a commit removes the ledgers of the batch before", _COMMITS,
        "            kept |= {row.ledger_id for row in await self._rows(previous)} | {previous.rows_ledger}\n", "",
        _PUBLISHING,
    ),
    Plant(
        "a commit removes ledgers of other queries", _COMMITS,
        "            if same and other.batch_id in batches", "            if other.batch_id in batches", _PUBLISHING,
    ),
    Plant(
        "an abort removes what is published", _COMMITS,
        "        if await manifest.find(self._ledgers, key) is None:\n            first",
        "        if True:\n            first", _PUBLISHING,
    ),
    Plant(
        "tasks are sent to where bookies were", _PLANS, "        self._addresses.clear()\n", "", _STREAM,
    ),
    Plant(
        "a bookie that does not answer is not looked up again", _PLANS,
        "bool(address.port) and not self._pool.is_suspect(address)", "bool(address.port)", _STREAM,
    ),
)  # fmt: skip

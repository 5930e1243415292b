"""Plants in the sink and in the streams of Spark."""

from .plant import Plant

_PUBLISHING = ["tests.spark.sink.test_publishing"]
_STREAM = ["tests.spark.source.test_stream"]
_SELECTION, _OPTIONS_TESTS = ["tests.spark.source.test_selection"], ["tests.spark.test_options"]
_CHECKING = ["tests.spark.pipelines.test_checking"]
_RESTORING = ["tests.spark.sink.test_restoring"]
_CLUSTER, _VIEW = ["tests.spark.driver.test_cluster"], "spark/driver/cluster.py"
_COMMITS, _WRITING, _PLANS = "spark/sink/publishing.py", "spark/sink/ledger_writing.py", "spark/source/batch.py"
_CHOICE, _OPTIONS = "spark/source/selection.py", "spark/options.py"

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
    Plant(
        "the repair of a ledger without entries divides by them", "spark/pipelines/replicate.py",
        "metadata.length / count if count else 0.0", "metadata.length / count if metadata.closed else 0.0",
        ["tests.spark.pipelines.test_replicate"],
    ),
    Plant(
        "an empty range chooses the whole cluster", _OPTIONS,
        "        if low > high:\n            raise ValueError(f\"{low}-{high} is no range: its first id is above its last one\")\n",
        "        if low > high:\n            continue\n", _OPTIONS_TESTS,
    ),
    Plant(
        "an empty option chooses the whole cluster", _OPTIONS,
        "if not own.get(key.lower(), key).strip():", "if not own.get(key.lower(), key):", _OPTIONS_TESTS,
    ),
    Plant(
        "every id of a range of some thousands is asked for", _CHOICE, "if last - first < ASKED_EACH:", "if last - first < 5 * ASKED_EACH:",
        _SELECTION,
    ),
    Plant(
        "a ledger that lacks at the end of a large range is passed over", _CHOICE,
        "len(found) <= last - first", "len(found) < last - first", _SELECTION,
    ),
    Plant(
        "records of the sink are ledgers of users", _VIEW, "(n for n in listed if not listed[n])", "listed", _CLUSTER,
    ),
    Plant(
        "ledgers of users with high ids are records of the sink", _VIEW,
        "(n for n in listed if not listed[n])", "(n for n in listed if False)", [*_CLUSTER, *_STREAM],
    ),
    Plant(
        "the marks of a record make one at any id", "spark/publication_ids.py",
        "    return first <= ledger_id <= last\n", "    return True\n", _CLUSTER,
    ),
    Plant(
        "a replica that was not moved is reported at its target", "spark/pipelines/repairs.py",
        "self.named.get(position), state", "target, state", ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "records are read at every look", _VIEW, "(n for n in high if n not in self._high_ids)", "high", _CLUSTER,
    ),
    Plant(
        "the ledger of a user ends the search for a record", "spark/sink/manifest.py",
        "        if found is not None:\n            return ledger_id, found\n", "        return ledger_id, found\n", _PUBLISHING,
    ),
    Plant(
        "ledgers that a stream has read have to exist for ever", "spark/source/stream.py",
        "ledger_ids(start.done.complement())", "ledger_ids()", _STREAM,
    ),
    Plant(
        "an offset beyond the end is read as it is", _CHOICE, "    if offset <= end:\n", "    if True:\n", _SELECTION,
    ),
    Plant(
        "an offset beyond the end is no error", _CHOICE, "    if fail_on_data_loss:\n", "    if False:\n", _SELECTION,
    ),
    Plant(
        "true is an entry id", _OPTIONS, "type(entry_id) is not int", "not isinstance(entry_id, int)", _OPTIONS_TESTS,
    ),
    Plant(
        "the highest id belongs to no set", "spark/id_ranges.py",
        "if following <= MAX_LEDGER_ID", "if following < MAX_LEDGER_ID", ["tests.spark.test_id_ranges"],
    ),
    Plant(
        "a batch of the sink draws an id that it does not use", _COMMITS,
        "        following = writer.ledger_id + 1\n", "        following = await self._ledgers.generate_id()\n", _STREAM,
    ),
    Plant(
        "the ledgers of rows are above the ids of the batch after them", _COMMITS,
        "        following = writer.ledger_id + 1\n", "        following = writer.ledger_id + 2\n", _PUBLISHING,
    ),
    Plant(
        "a restored ledger is as old as its import", "spark/sink/restoring.py",
        "        await writer.close()\n        await self._set_ctime(writer.ledger_id, facts)\n",
        "        await writer.close()\n", _RESTORING,
    ),
    Plant(
        "an import removes the marks of others", "spark/sink/restoring.py",
        "stored.custom_metadata.get(RESTORED_BY) == mark, unmarked", "RESTORED_BY in stored.custom_metadata, unmarked",
        _RESTORING,
    ),
    Plant(
        "an import passes over ledgers that are not those of the archive", "spark/sink/restoring.py",
        "return self.has_end(metadata) and known == wanted", "return self.has_end(metadata)", _RESTORING,
    ),
    Plant(
        "entries of a lost log are damaged", "spark/pipelines/checking.py",
        "            answers |= self._lost(answers)\n", "", _CHECKING,
    ),
    Plant(
        "two lost positions of an ensemble get the same bookie", "spark/pipelines/repairs.py",
        "ensemble[position] = one.targets[position] = target", "one.targets[position] = target",
        ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "an open ledger ends where its bookies say, before its newest ensemble", _CHOICE,
        "max(known.last_add_confirmed, ledgers[ledger_id].segments[-1].first_entry_id - 1)", "known.last_add_confirmed",
        _STREAM,
    ),
    Plant(
        "a query that ends with what is there follows a ledger that grows", "spark/source/stream.py",
        "return min(extent.end, max(target.next_entry.get(ledger_id, 0), position))", "return extent.end", _STREAM,
    ),
    Plant(
        "an import takes a ledger that was closed early for whole", "spark/sink/restoring.py",
        "        if facts.has_end(stored):\n", "        if stored.closed:\n", _RESTORING,
    ),
    Plant(
        "an import skips what follows a ledger that is there", "spark/sink/restoring.py",
        "self._facts, self._skipping = facts, False", "self._facts = facts", _RESTORING,
    ),
    Plant(
        "the record of another batch with the same id is taken for a batch's", "spark/sink/manifest.py",
        "return found if found is not None and found.key == key else None", "return found", _PUBLISHING,
    ),
    Plant(
        "manifests whose records are in one range are mixed", "spark/sink/manifest.py",
        "if one is not None and one.key.manifest == manifest}", "if one is not None}", _PUBLISHING,
    ),
    Plant(
        "the entry after a lost one is passed over", "spark/task/partition.py",
        "following = error.entry_id + 1", "following = error.entry_id + 2", ["tests.spark.task.test_partition"],
    ),
    Plant(
        "an entry of each ledger goes into a batch that is full", "spark/source/offsets.py",
        "0 if self.taken else 1", "1", ["tests.spark.source.test_offsets"],
    ),
)  # fmt: skip

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
        "if await self.is_published():\n    raise AlreadyPublishedError", "", _PUBLISHING,
        where="PartitionWriter._open",
    ),
    Plant(
        "a task that failed leaves its ledgers", _WRITING,
        "THREAD.wait(writer.remove)\nraise", "raise", _PUBLISHING, where="write_partition",
    ),
    Plant(
        "a commit leaves what other attempts wrote", _COMMITS,
        "await self._remove_leftovers(key, first, kept, previous is not None)", "", _PUBLISHING,
        where="Publisher.commit",
    ),
    Plant(
        "a commit removes what another one published", _COMMITS,
        "kept = {row.ledger_id for row in await self._rows(published)} | {published.rows_ledger}",
        "kept: set[int] = set()", _PUBLISHING, where="Publisher.commit",
    ),
    Plant(
        "a commit removes the ledgers of the batch before", _COMMITS,
        "kept |= {row.ledger_id for row in await self._rows(previous)} | {previous.rows_ledger}", "", _PUBLISHING,
        where="Publisher.commit",
    ),
    Plant(
        "a commit removes ledgers of other queries", _COMMITS,
        "same and other.batch_id in batches", "other.batch_id in batches", _PUBLISHING,
        where="Publisher._remove_leftovers",
    ),
    Plant(
        "an abort removes what is published", _COMMITS,
        "await manifest.find(self._ledgers, key) is None", "True", _PUBLISHING, where="Publisher.abort",
    ),
    Plant(
        "tasks are sent to where bookies were", _PLANS,
        "self._addresses.clear()", "", _STREAM, where="Planner.partitions",
    ),
    Plant(
        "a bookie that does not answer is not looked up again", _PLANS,
        "bool(address.port) and not self._pool.is_suspect(address)", "bool(address.port)", _STREAM,
        where="Planner._is_known",
    ),
    Plant(
        "the repair of a ledger without entries divides by them", "spark/pipelines/replicate.py",
        "metadata.length / count if count else 0.0", "metadata.length / count if metadata.closed else 0.0",
        ["tests.spark.pipelines.test_replicate"], where="_parts",
    ),
    Plant(
        "an empty range chooses the whole cluster", _OPTIONS,
        'raise ValueError(f"{low}-{high} is no range: its first id is above its last one")', "continue",
        _OPTIONS_TESTS, where="_ledger_ids",
    ),
    Plant(
        "an empty option chooses the whole cluster", _OPTIONS,
        "own.get(key.lower(), key).strip()", "own.get(key.lower(), key)", _OPTIONS_TESTS, where="SourceOptions.parse",
    ),
    Plant(
        "every id of a range of some thousands is asked for", _CHOICE,
        "last - first < ASKED_EACH", "last - first < 5 * ASKED_EACH", _SELECTION, where="Selection._in_range",
    ),
    Plant(
        "a ledger that lacks at the end of a large range is passed over", _CHOICE,
        "len(found) <= last - first", "len(found) < last - first", _SELECTION, where="Selection._in_range",
    ),
    Plant(
        "records of the sink are ledgers of users", _VIEW,
        "(n for n in listed if not listed[n])", "listed", _CLUSTER, where="ClusterView.ledger_ids",
    ),
    Plant(
        "ledgers of users with high ids are records of the sink", _VIEW,
        "not listed[n]", "False", [*_CLUSTER, *_STREAM], where="ClusterView.ledger_ids",
    ),
    Plant(
        "the marks of a record make one at any id", "spark/publication_ids.py",
        "first <= ledger_id <= last", "True", _CLUSTER, where="is_record",
    ),
    Plant(
        "a replica that was not moved is reported at its target", "spark/pipelines/repairs.py",
        "self.named.get(position)", "target", ["tests.spark.pipelines.test_repairs"], where="FragmentRepair.outcomes",
    ),
    Plant(
        "records are read at every look", _VIEW,
        "self.metadata(n for n in high if n not in self._high_ids)", "self.metadatahigh", _CLUSTER,
        where="ClusterView.ledger_ids",
    ),
    Plant(
        "the ledger of a user ends the search for a record", "spark/sink/manifest.py",
        "if found is not None: ...", "...", _PUBLISHING, where="_looked_up",
    ),
    Plant(
        "ledgers that a stream has read have to exist for ever", "spark/source/stream.py",
        "self._planner.selection.ledger_ids(start.done.complement())", "self._planner.selection.ledger_ids()",
        _STREAM, where="StreamPlanner._unfinished",
    ),
    Plant("an offset beyond the end is read as it is", _CHOICE, "offset <= end", "True", _SELECTION, where="offset_of"),
    Plant(
        "an offset beyond the end is no error", _CHOICE,
        "if fail_on_data_loss: ...", "if False: ...", _SELECTION, where="offset_of",
    ),
    Plant(
        "true is an entry id", _OPTIONS,
        "type(entry_id) is not int", "not isinstance(entry_id, int)", _OPTIONS_TESTS, where="_offsets",
    ),
    Plant(
        "the highest id belongs to no set", "spark/id_ranges.py",
        "following <= MAX_LEDGER_ID", "following < MAX_LEDGER_ID", ["tests.spark.test_id_ranges"],
        where="IdRanges.complement",
    ),
    Plant(
        "a batch of the sink draws an id that it does not use", _COMMITS,
        "writer.ledger_id + 1", "await self._ledgers.generate_id()", _STREAM, where="Publisher._publish",
    ),
    Plant(
        "the ledgers of rows are above the ids of the batch after them", _COMMITS,
        "writer.ledger_id + 1", "writer.ledger_id + 2", _PUBLISHING, where="Publisher._publish",
    ),
    Plant(
        "a restored ledger is as old as its import", "spark/sink/restoring.py",
        "await self._set_ctime(writer.ledger_id, facts)", "", _RESTORING, where="Restorer.finish",
    ),
    Plant(
        "an import removes the marks of others", "spark/sink/restoring.py",
        "stored.custom_metadata.get(RESTORED_BY) == mark", "RESTORED_BY in stored.custom_metadata", _RESTORING,
        where="remove_marks.remove",
    ),
    Plant(
        "an import passes over ledgers that are not those of the archive", "spark/sink/restoring.py",
        "self.has_end(metadata) and known == wanted", "self.has_end(metadata)", _RESTORING, where="Facts.describes",
    ),
    Plant(
        "entries of a lost log are damaged", "spark/pipelines/checking.py",
        "answers |= self._lost(answers)", "", _CHECKING, where="PositionCheck._answer",
    ),
    Plant(
        "two lost positions of an ensemble get the same bookie", "spark/pipelines/repairs.py",
        "ensemble[position] = one.targets[position] = target", "one.targets[position] = target",
        ["tests.spark.pipelines.test_repairs"], where="Repairs._choose",
    ),
    Plant(
        "an open ledger ends where its bookies say, before its newest ensemble", _CHOICE,
        "max(known.last_add_confirmed, ledgers[ledger_id].segments[-1].first_entry_id - 1)",
        "known.last_add_confirmed", _STREAM, where="extents",
    ),
    Plant(
        "a query that ends with what is there follows a ledger that grows", "spark/source/stream.py",
        "min(extent.end, max(target.next_entry.get(ledger_id, 0), position))", "extent.end", _STREAM,
        where="StreamPlanner._end",
    ),
    Plant(
        "an import takes a ledger that was closed early for whole", "spark/sink/restoring.py",
        "facts.has_end(stored)", "stored.closed", _RESTORING, where="Restorer._is_restored",
    ),
    Plant(
        "an import skips what follows a ledger that is there", "spark/sink/restoring.py",
        "self._facts, self._skipping = facts, False", "self._facts = facts", _RESTORING, where="Restorer._begin",
    ),
    Plant(
        "the record of another batch with the same id is taken for a batch's", "spark/sink/manifest.py",
        "found if found is not None and found.key == key else None", "found", _PUBLISHING, where="find.wanted",
    ),
    Plant(
        "manifests whose records are in one range are mixed", "spark/sink/manifest.py",
        "one is not None and one.key.manifest == manifest", "one is not None", _PUBLISHING, where="_publications",
    ),
    Plant(
        "the entry after a lost one is passed over", "spark/task/partition.py",
        "error.entry_id + 1", "error.entry_id + 2", ["tests.spark.task.test_partition"], where="_runs",
    ),
    Plant(
        "an entry of each ledger goes into a batch that is full", "spark/source/offsets.py",
        "0 if self.taken else 1", "1", ["tests.spark.source.test_offsets"], where="Admission.admitted",
    ),
)  # fmt: skip

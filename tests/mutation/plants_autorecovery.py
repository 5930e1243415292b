"""Plants in ``autorecovery`` and in what it stands on in ``ledger``."""

from .plant import Plant

_SCANS = ["tests.ledger.test_replica_scan", "tests.autorecovery.replication.test_checker"]
_CHECKS = ["tests.autorecovery.replication.test_checker"]
_COPIES = ["tests.autorecovery.replication.test_fragment_replicator"]
_WORKER = ["tests.autorecovery.replication.test_worker"]
_OPEN = ["tests.autorecovery.replication.test_open_ledgers"]
_REMOVAL = ["tests.metadata.test_mark_removal", "tests.autorecovery.replication.test_worker_beside_apache"]
_SESSIONS = ["tests.autorecovery.replication.test_worker_sessions"]

PLANTS = (
    Plant(
        "metadata change before the copy", "autorecovery/replication/fragment_replicator.py",
        "        await copies.run(without(plan, work.hopeless))\n",
        "        early = fragment.moves(targets)\n"
        "        await update(self._context.ledgers, fragment.ledger_id, None, early.are_needed, early.apply)\n"
        "        await copies.run(without(plan, work.hopeless))\n", _COPIES,
    ),
    Plant(
        "a mark is removed at a newer version", "metadata/mark_removal.py",
        "        await marks.remove_mark(ledger_id, mark.version)\n",
        "        await marks.remove_mark(ledger_id, (await marks.read_mark(ledger_id)).version)\n", [*_REMOVAL, *_WORKER],
    ),
    Plant(
        "the mark goes of a bookie that Apache's auditor has found lost again", "metadata/mark_removal.py",
        "            if gone:\n", "            if False:\n", _REMOVAL,
    ),
    Plant(
        "a mark of Apache's auditor does not renew the version", "metadata/mark_removal.py",
        "attrs.evolve(mark.value, replicas=())", "mark.value", _REMOVAL,
    ),
    Plant(
        "a bookie that is still in the ledger may be lost before its mark goes", "autorecovery/replication/worker.py",
        "        bookies = report.bookies if report is not None else ()\n", "        bookies = ()\n", _REMOVAL,
    ),
    Plant(
        "entries are copied outside of their write sets", "ledger/copy_plan.py",
        "            for start, count in fragment.schedule.stretches(position, low, high):\n",
        "            for start, count in ((low, high - low + 1),):\n", ["tests.ledger.test_copy_plan", *_COPIES],
    ),
    Plant(
        "an overload is taken for a loss", "ledger/replica_scan.py",
        "    return DAMAGED if isinstance(error, BookieIOError | DigestMatchError) else UNREACHABLE\n",
        "    return DAMAGED\n", _SCANS,
    ),
    Plant(
        "the lock of another worker is not looked at", "autorecovery/replication/worker.py",
        "            self._refused[ledger_id] = self._clock.seconds() + self._settings.backoff\n            return False\n",
        "            pass\n", _WORKER,
    ),
    Plant(
        "a lock that went before its release hides the ledger", "autorecovery/replication/worker.py",
        "                self._walk_at(self._clock.seconds() + self._settings.backoff)\n", "                pass\n", _SESSIONS,
    ),
    Plant(
        "work goes on without its lock", "autorecovery/replication/worker.py",
        "            self._underreplication.watch_lost_locks(self._cancel_jobs),\n", "", _SESSIONS,
    ),
    Plant(
        "a lock that could not be released stays", "autorecovery/replication/worker.py",
        "            if not self.running:\n                return  # the process ends",
        "            if True:\n                return  # the process ends", _SESSIONS,
    ),
    Plant(
        "a lock of unknown outcome stays", "autorecovery/replication/worker.py",
        "        except (BookKeeperError, CancelledError):  # the store may have done it\n",
        "        except CancelledError:  # the store may have done it\n", _SESSIONS,
    ),
    Plant(
        "the release of a lock is cut short by the stop", "autorecovery/replication/worker.py",
        "            if job.running is not None and not job.is_ending:\n", "            if job.running is not None:\n", _WORKER,
    ),
    Plant(
        "the text of another worker's lock is replaced", "metadata/embedded/memory.py",
        "        if ledger_id in self._shared.locks and self._shared.locks[ledger_id][0] is self:\n"
        "            self._shared.locks[ledger_id] = self, text\n",
        "        if ledger_id in self._shared.locks:\n            self._shared.locks[ledger_id] = self, text\n",
        ["tests.metadata.embedded.test_memory"],
    ),
    Plant(
        "an auditor alone repairs, too", "autorecovery/service.py",
        "        if WORKER in self._services:\n            self.worker.startService()\n", "        self.worker.startService()\n",
        ["tests.autorecovery.test_service"],
    ),
    Plant(
        "latency bounds are not changed over HTTP", "http/limits_api.py",
        "        for key, group in groups.items():\n            group.set_limits(rates[key], bounds[key])\n",
        "        for key, group in groups.items():\n            group.set_limits(rates[key], None)\n", ["tests.http.test_limits_api"],
    ),
    Plant(
        "a ledger counts as whole while a bookie could not be asked", "ledger/findings.py",
        "        return not any(report.losses or report.inconclusive for report in self.fragments)\n",
        "        return not any(report.losses for report in self.fragments)\n",
        ["tests.ledger.test_copy_plan", *_WORKER],
    ),
    Plant(
        "suspects are read in samples", "autorecovery/replication/checker.py",
        "        percentage = EVERY_ENTRY if bookie_id in self._suspects else self._percentage\n",
        "        percentage = self._percentage\n", [*_CHECKS, *_WORKER],
    ),
    Plant(
        "what was copied is not read at the end of a repair", "ledger/findings.py",
        "                if position not in bad:\n", "                if bad or not bad:\n", [*_CHECKS, *_WORKER],
    ),
    Plant(
        "suspects that were whole once are not read again", "autorecovery/replication/checker.py",
        "                elif bookie_id in suspects or (", "                elif (", [*_CHECKS, *_WORKER],
    ),
    Plant(
        "marks of the placement check are removed, and nothing moves", "autorecovery/replication/repair.py",
        "                await self._place(stored, report, progress)\n", "",
        ["tests.autorecovery.replication.test_placement"],
    ),
    Plant(
        "replicas move that need not", "autorecovery/replication/placement.py",
        "range(len(ensemble)) for some", "reversed(range(len(ensemble))) for some",
        ["tests.autorecovery.replication.test_placement"],
    ),
    Plant(
        "the watch is believed of bookies that a mark names", "autorecovery/replication/checker.py",
        "        gone = await self._presence.gone(metadata.bookies, suspects)\n",
        "        gone = await self._presence.gone(metadata.bookies)\n", _OPEN,
    ),
    Plant(
        "an earlier answer of the store is believed of bookies that a mark names", "autorecovery/presence.py",
        "        if anew or ", "        if ", ["tests.autorecovery.test_presence"],
    ),
    Plant(
        "a bookie is gone as soon as the watch does not name it", "autorecovery/presence.py",
        "        return doubtful - self._writable - self._read_only if doubtful else doubtful\n",
        "        return missing\n",
        _CHECKS,
    ),
    Plant(
        "a target that failed counts as done", "autorecovery/replication/fragment_replicator.py",
        "            if target in failed:\n", "            if False:\n", _COPIES,
    ),
    Plant(
        "a bookie takes the place of another with part of its entries", "ledger/copy_plan.py",
        "        if target != fragment.ensemble[position] and ends is not None:\n", "        if False:\n",
        ["tests.ledger.test_copy_plan", *_COPIES],
    ),
    Plant(
        "a bookie that did not take everything is named", "spark/pipelines/repairs.py",
        "for position, target in self.targets.items() if position not in self.problems}\n",
        "for position, target in self.targets.items()}\n", ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "a bulk repair names bookies without its lock", "spark/pipelines/repairs.py",
        "            await repair.lock.run(partial(self._finish, repair))\n", "            await self._finish(repair)\n",
        ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "a bulk repair completes marks of bookies that it could not check", "spark/pipelines/repairs.py",
        " and not unsure and not any(", " and not any(", ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "a bulk repair completes marks that are newer than its check", "spark/pipelines/repairs.py",
        "        mark = self._check.marks.get(repair.ledger_id)\n",
        "        mark = await self._marks.read_mark(repair.ledger_id)\n", ["tests.spark.pipelines.test_repairs"],
    ),
    Plant(
        "bookies are named although the job that copies has failed", "spark/pipelines/replicate.py",
        "        if not self._copied:\n", "        if False:\n", ["tests.spark.pipelines.test_replicate"],
    ),
    Plant(
        "entries that no bookie gave are passed over", "autorecovery/replication/fragment_replicator.py",
        "        if copies.unreadable:\n", "        if False:\n", _COPIES,
    ),
    Plant(
        "the newest ensemble of a writer is changed", "ledger/fragments.py",
        "        final = metadata.segments if metadata.closed else metadata.segments[:-1]\n",
        "        final = metadata.segments\n", ["tests.ledger.test_fragments"],
    ),
    Plant(
        "the end of a fragment is final while its writer lives", "ledger/fragments.py",
        "        closed = metadata.closed or (settled and not is_newest)\n", "        closed = True\n",
        ["tests.ledger.test_fragments", *_WORKER],
    ),
    Plant(
        "the flow of a replicator never ends", "autorecovery/replication/fragment_replicator.py",
        "context.bookies.retire()", "pass",
        ["tests.autorecovery.replication.test_fragment_replicator"],
    ),
    Plant(
        "two losses of one single entry are taken for two entries", "autorecovery/replication/repair.py",
        "low <= last and first <= high for", "low < last and first < high for", _OPEN,
    ),
    Plant(
        "a writer is fenced for entries on their way", "autorecovery/replication/repair.py",
        "        if known is not None and (loss.kind is LossKind.GONE or _overlap(loss.ranges, known.ranges)):\n",
        "        if known is not None:\n", _OPEN,
    ),
    Plant(
        "writes are not paid for each bookie", "autorecovery/replication/copying.py",
        "            await self._limits.writes.acquire(n_bytes, len(adds))\n",
        "            await self._limits.writes.acquire(n_bytes // 2, len(adds) // 2)\n", _COPIES,
    ),
    Plant(
        "a read is paid for after it has come", "autorecovery/replication/copying.py",
        "        await self._limits.reads.acquire(expected[1], entries)\n", "", _COPIES,
    ),
    Plant(
        "what a check expected to read is not corrected", "autorecovery/replication/bookie_reads.py",
        "        self._throttle.correct(n_bytes - expected_bytes, entries - expected)\n", "", _CHECKS,
    ),
    Plant(
        "a latency bound watches whole windows", "autorecovery/replication/copying.py",
        "            if entries == 1:\n", "            if entries:\n",
        ["tests.autorecovery.replication.test_latency_probe"],
    ),
    Plant(
        "a striped replica that is lost is a finding a stripe", "ledger/replica_scan.py",
        "self._schedule.ends(self._position, before.last + 1, one.first - 1) is None", "one.first == before.last + 1",
        ["tests.ledger.test_replica_scan"],
    ),
    Plant(
        "an answer for all entries counts none", "ledger/replica_scan.py",
        "state_of(error), count, detail", "state_of(error), 0, detail", ["tests.ledger.test_replica_scan"],
    ),
    Plant(
        "damage is judged by the slice of a log alone", "ledger/replica_scan.py",
        "                self._sound(run.slice(run.first, error.entry_id - run.first))\n                return\n",
        "                self._sound(run.slice(run.first, error.entry_id - run.first))\n"
        "                self._note(Finding(error.entry_id, error.entry_id, DAMAGED, 1, 0, str(error)))\n"
        "                return\n", ["tests.ledger.test_replica_scan", "tests.autorecovery.replication.test_damaged_bookies"],
    ),
    Plant(
        "damage is marked once, whether the store takes it or not", "bookie/maintenance/damage_marks.py",
        "                pause = min(2 * pause, _LONGEST_PAUSE)\n                continue\n",
        "                pause = min(2 * pause, _LONGEST_PAUSE)\n", ["tests.bookie.maintenance.test_scrubber"],
    ),
    Plant(
        "a recovery forgets that its bookie runs", "cli/commands/recovery.py",
        "            await self._recovery.check_gone()\n", "            pass\n", ["tests.cli.commands.test_recovery"],
    ),
    Plant(
        "a recovery goes on without a metadata store", "autorecovery/operations/bookie_recovery.py",
        "                await self._admin.instance_id()  # fails where all other ledgers would, each after minutes\n",
        "                pass\n", ["tests.autorecovery.operations.test_bookie_recovery"],
    ),
    Plant(
        "ledgers are renamed before all were looked at", "client/renaming.py",
        "        await for_each(self._ledgers.ledger_ids(), self._check, self._at_once)\n", "",
        ["tests.client.test_renaming"],
    ),
    Plant(
        "a shell does not wait for a command that is interrupted", "cli/main.py",
        "    running.cancel()\n    return ended\n", "    running.cancel()\n    return None\n",
        ["tests.cli.test_main"],
    ),
    Plant(
        "inconclusive ledgers are asked again one by one", "autorecovery/auditing/ledger_checks.py",
        "            await for_each(unsure, again, self.context.scan.parallel)\n",
        "            await for_each(unsure, again, 1)\n", ["tests.autorecovery.auditing.test_ledger_checks"],
    ),
    Plant(
        "a writer is fenced for copies that no bookie could take", "autorecovery/replication/repair.py",
        "if lasting and (shortage := await self._shortage(stored.value, lasting)) is not None:", "if False:",
        ["tests.autorecovery.replication.test_open_ledgers"],
    ),
)  # fmt: skip

"""Plants in ``bookie``."""

from .plant import Plant

_SESSION = ["tests.bookie.requests.test_session"]
_ERRORS = ["tests.bookie.test_lane_errors"]
_GROUPS = ["tests.bookie.test_group_commit"]
_QUEUE = ["tests.bookie.test_group_commit_interleavings"]
_LANES = ["tests.bookie.test_executor"]
_WINDOW = ["tests.bookie.requests.test_fencing_window"]
_HANDLES = ["tests.bookie.test_ledger_handle"]
_READS = ["tests.bookie.test_bookie_reads"]

_IDS = ["tests.bookie.requests.test_hostile_ids"]
_CHECKPOINTS = ["tests.bookie.test_checkpointer"]
_READ_PROCESSOR = "bookie/requests/read_processor.py"

PLANTS = (
    Plant(
        "reads of reserved ids are looked up", _READ_PROCESSOR,
        "        self._refuse_reserved(session, cursor)\n", "", _IDS,
    ),
    Plant(
        "reads behind those of reserved ids are forgotten", _READ_PROCESSOR,
        "            if start + reserved < end:\n", "            if not reserved:\n", _IDS,
    ),
    Plant(
        "a batch goes on behind the highest id", "bookie/requests/batch_processor.py",
        "        return run.last < self.next <= MAX_ENTRY_ID and self.has_room\n",
        "        return run.last < self.next and self.has_room\n", _IDS,
    ),
    Plant(
        "a batch read of a reserved id fences", "bookie/requests/batch_processor.py",
        "            check_ids(request.ledger_id, request.first)\n", "", _IDS,
    ),
    Plant(
        "a read of a reserved id fences", "bookie/requests/lac_processor.py",
        "        check_ids(request.ledger_id, request.entry_id)\n", "", _IDS,
    ),
    Plant(
        "reads that cannot be encoded stay unanswered", _READ_PROCESSOR,
        "            for index in range(start, start + count):\n"
        "                self._refuse(session, cursor, index, error)\n            return\n",
        "            del error\n            return\n", _ERRORS,
    ),
    Plant(
        "a request that cannot be answered keeps its permits", "bookie/requests/session.py",
        "        self.connection.end()\n", "", _ERRORS,
    ),
    Plant(
        "used up file descriptors count as a failed disk", "bookie/engine.py",
        "        if not is_out_of_files(error):\n            self._on", "        if True:\n            self._on", _CHECKPOINTS,
    ),
    Plant(
        "disks are looked at by the clock alone", "bookie/lifecycle/service.py",
        "        self._disks.look()\n", "", ["tests.bookie.lifecycle.test_service_disks"],
    ),
    Plant(
        "every checkpoint begins a look of its own", "bookie/lifecycle/disk_monitor.py",
        "        if self._timer.running and not self._looking:\n", "        if self._timer.running:\n",
        ["tests.bookie.lifecycle.test_disk_monitor"],
    ),
    Plant(
        "disks are looked at after the end of the monitor", "bookie/lifecycle/disk_monitor.py",
        "        if self._timer.running and not self._looking:\n", "        if not self._looking:\n",
        ["tests.bookie.lifecycle.test_disk_monitor"],
    ),
    Plant(
        "a disk check without file descriptors loses the directories", "bookie/lifecycle/disk_monitor.py",
        "            if error.errno in NO_FILES:\n                raise\n", "",
        ["tests.bookie.lifecycle.test_disk_monitor"],
    ),
    Plant(
        "entries of a lost log are I/O errors", "bookie/disk_reads.py",
        "DataUnknownError if isinstance(error, LostLogError) else BookieIOError", "BookieIOError",
        ["tests.bookie.test_disk_reads"],
    ),
    Plant(
        "a fencing read looks the entry up before it fences", "bookie/requests/lac_processor.py",
        "        await self._context.bookie.fence(request.ledger_id, request.master_key)\n"
        "        entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)\n",
        "        try:\n"
        "            entry = await read_entry_or_last(session, request.ledger_id, request.entry_id)\n"
        "        finally:\n"
        "            await self._context.bookie.fence(request.ledger_id, request.master_key)\n", _WINDOW,
    ),
    Plant(
        "a fence holds when it is durable, not before", "bookie/bookie.py",
        "        handle.fencing = [result]\n",
        "        handle.fencing, handle.row = [result], attrs.evolve(handle.row, fenced=False)\n", _WINDOW,
    ),
    Plant(
        "a fencing batch read looks the last entry up first", "bookie/requests/batch_processor.py",
        "            await self._prepare(session, request)\n            await session.room()\n            more = True\n"
        "            if request.first == INVALID_ENTRY_ID:\n"
        "                more = await self._take_last(session, gathering)\n",
        "            more = True\n            if request.first == INVALID_ENTRY_ID:\n"
        "                more = await self._take_last(session, gathering)\n"
        "            await self._prepare(session, request)\n            await session.room()\n", _WINDOW,
    ),
    Plant(
        "an explicit LAC lowers the LAC", "bookie/bookie.py",
        "        handle.advance_lac(lac)\n        return self._journal(",
        "        handle.last_add_confirmed = lac\n        return self._journal(", _READS,
    ),
    Plant(
        "the LAC learnt from disk lowers the LAC", "bookie/bookie.py",
        "            if lac > handle.last_add_confirmed:\n",
        "            if lac != handle.last_add_confirmed:\n", _READS,
    ),
    Plant(
        "an older explicit LAC replaces the newer one", "bookie/bookie.py",
        "if lac >= lac_of_packet(handle.row.explicit_lac):", "if lac >= 0:", _READS,
    ),
    Plant(
        "adds that wait for a checkpoint outlive the journal", "bookie/engine.py",
        '            self.bookie.refuse_waiting(StorageFailedError("a journal has failed"))\n', "", _READS,
    ),
    Plant(
        "an add overtakes those that wait for room", "bookie/bookie.py",
        "if self._waiting or not self._has_room(entries):", "if not self._has_room(entries):", _READS,
    ),
    Plant(
        "a fencing read does not wait for its fence", "bookie/requests/lac_processor.py",
        "await self._context.bookie.fence(", "self._context.bookie.fence(", _WINDOW,
    ),
    Plant(
        "a fencing batch read does not wait for its fence", "bookie/requests/batch_processor.py",
        "await bookie.fence(", "bookie.fence(", _WINDOW,
    ),
    Plant(
        "a mixed group is acknowledged before it is written", "bookie/group_commit.py",
        "        if records:\n            self.journal.write_group(records, sync=False)\n"
        "            group.written = self._clock.seconds()\n        if waiting:\n            if records:\n"
        "                self._complete_early(group, waiting)\n",
        "        if waiting and records:\n            self._complete_early(group, waiting)\n"
        "        if records:\n            self.journal.write_group(records, sync=False)\n"
        "            group.written = self._clock.seconds()\n        if waiting:\n", _GROUPS,
    ),
    Plant(
        "only errors of the disk fail a group", "bookie/group_commit.py",
        "        except Exception:\n            group.failure",
        "        except OSError:\n            group.failure", _GROUPS,
    ),
    Plant(
        "an item is left behind when the lane ends", "bookie/group_commit.py",
        "if not self._queue or not self._take_token():", "if True:", _QUEUE,
    ),
    Plant(
        "the second journal that fails leaves its replies", "bookie/group_commit.py",
        "        self.stop()\n        self._flush()\n", "        self.stop()\n", _ERRORS,
    ),
    Plant(
        "an odd error ends a lane's thread", "bookie/executor.py",
        "except BaseException:", "except Exception:", _LANES,
    ),
    Plant(
        "the last entry that memory has seen is taken for the last one", "bookie/bookie.py",
        "        return handle.last_entry if handle is not None and handle.last_complete else INVALID_ENTRY_ID\n",
        "        return handle.last_entry if handle is not None else INVALID_ENTRY_ID\n", _READS,
    ),
    Plant(
        "an odd error of the read lane is not answered", "bookie/requests/read_processor.py",
        "        except Exception as error:\n            loaded =",
        "        except OSError as error:\n            loaded =", _ERRORS,
    ),
    Plant(
        "an odd error of the flush lane is not survived", "bookie/checkpointer.py",
        "        except Exception as error:\n            failure = error",
        "        except ZeroDivisionError as error:\n            failure = error", _ERRORS,
    ),
    Plant(
        "a batch waits for a load that failed", "bookie/requests/batch_processor.py",
        "        finally:\n            self._under_way.end(load, entry_size)\n",
        "        except OSError:\n            raise\n        self._under_way.end(load, entry_size)\n", _ERRORS,
    ),
    Plant(
        "small runs pass a large one that waits for permits", "bookie/requests/context.py",
        "or (self._waiting and not is_turn)", "", ["tests.bookie.requests.test_permits"],
    ),
    Plant(
        "a run takes more permits than are left", "bookie/requests/context.py",
        "self.in_progress + count <= self._limit", "self.in_progress < self._limit",
        ["tests.bookie.requests.test_permits"],
    ),
    Plant(
        "a request that waits goes behind later ones", "bookie/requests/session.py",
        "                    self._backlog.appendleft(item)\n",
        "                    self._backlog.append(item)\n", _SESSION,
    ),
    Plant(
        "the last entry is looked up in the index alone", "bookie/bookie.py",
        "max(handle.last_entry, self._storage.last_cached(ledger_id))", "handle.last_entry", _READS,
    ),
    Plant(
        "an explicit LAC brings a deleted, fenced ledger back", "bookie/bookie.py",
        "            if self._storage.was_fenced(ledger_id):\n                raise LedgerFencedError(ledger_id)\n", "",
        _READS,
    ),
    Plant(
        "a request is put back after its connection is lost", "bookie/requests/session.py",
        "        if not self.connection.closed:\n            self._backlog", "        if True:\n            self._backlog",
        _SESSION,
    ),
    Plant(
        "a connection that is being closed is still read", "protocol/server/connection.py",
        "if self._session is None or self.state in _ENDING:", "if self._session is None:",
        ["tests.protocol.server.test_connection"],
    ),
    Plant(
        "what was gathered counts for ever where a load fails", "bookie/requests/batch_processor.py",
        "        try:\n            more = await self._load(session, gathering)\n        finally:\n"
        "            session.expect(-gathered)\n",
        "        more = await self._load(session, gathering)\n        session.expect(-gathered)\n",
        ["tests.bookie.requests.test_batch_processor.DiskTests"],
    ),
    Plant(
        "the time of an answer tells of a key", "bookie/ledger_handle.py",
        "not compare_digest(master_key, self.row.master_key):", "master_key != self.row.master_key:", _HANDLES,
    ),
    Plant(
        "the time of an answer to ledgers in turn tells of a key", "bookie/ledger_handle.py",
        "if not compare_digest(handle.accepts, master_key):", "if handle.accepts != master_key:", _HANDLES,
    ),
    Plant(
        "the key of the first ledger opens all", "bookie/ledger_handle.py",
        "if handle.accepts is not compared:", "if compared is None:", _HANDLES,
    ),
)  # fmt: skip

"""Plants in ``bookie``."""

from .plant import Plant

_WINDOW = ["tests.bookie.requests.test_fencing_window"]
_READS = ["tests.bookie.test_bookie_reads"]

PLANTS = (
    Plant(
        "a fencing read looks the entry up before it fences", "bookie/requests/lac_processor.py",
        "        await self._context.bookie.fence(request.ledger_id, request.master_key)\n"
        "        entry = await read_entry_or_last(self._context, request.ledger_id, request.entry_id)\n",
        "        try:\n"
        "            entry = await read_entry_or_last(self._context, request.ledger_id, request.entry_id)\n"
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
        "            await self._prepare(session, request)\n            more = True\n"
        "            if request.first == INVALID_ENTRY_ID:\n"
        "                more = await self._take_last(gathering)\n",
        "            more = True\n            if request.first == INVALID_ENTRY_ID:\n"
        "                more = await self._take_last(gathering)\n"
        "            await self._prepare(session, request)\n", _WINDOW,
    ),
    Plant(
        "an explicit LAC lowers the LAC", "bookie/bookie.py",
        "        handle.hear(lac)\n        return self._journal(",
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
)  # fmt: skip

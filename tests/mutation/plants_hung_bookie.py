"""Plants in how checks treat a bookie that is registered and answers nothing."""

from .plant import Plant

_SILENCE = ["tests.autorecovery.test_unanswering"]
_HUNG = ["tests.autorecovery.auditing.test_hung_bookie"]

PLANTS = (
    Plant(
        "a hung bookie is asked for each of its replicas", "autorecovery/unanswering.py",
        "self._silent[bookie_id] = _Silence(now, FIRST_PAUSE, now + FIRST_PAUSE)", "pass", _SILENCE,
        where="UnansweringBookies._unanswered",
    ),
    Plant(
        "a slow bookie is taken for a hung bookie, although it answered in between", "autorecovery/unanswering.py",
        "self._in_a_row.pop(bookie_id, None)", "", _SILENCE, where="UnansweringBookies._answered",
    ),
    Plant(
        "a hung bookie is never asked again", "autorecovery/unanswering.py",
        "now >= silence.until", "False", _SILENCE, where="UnansweringBookies.refusal",
    ),
    Plant(
        "all requests after the pause are sent to a hung bookie", "autorecovery/unanswering.py",
        "silence.until = now + silence.pause", "", _SILENCE, where="UnansweringBookies.refusal",
    ),
    Plant(
        "a cancelled request to a hung bookie counts as an answer", "autorecovery/unanswering.py",
        "try: ...\nexcept BookKeeperError as error: ...", "try: ...\nexcept Exception as error: ...", _SILENCE,
        where="UnansweringBookies.ask",
    ),
    Plant(
        "a bookie without batch reads is taken for a hung bookie", "autorecovery/replication/bookie_reads.py",
        "await self._look_for_refusal(bookie_id, first)",
        "self._unanswering.heard(bookie_id, error)\nawait self._look_for_refusal(bookie_id, first)", _HUNG,
        where="BookieReads._ask_batch",
    ),
    Plant(
        "batch reads are sent to a hung bookie", "autorecovery/replication/bookie_reads.py",
        "if refusal is not None: ...", "", _HUNG, where="BookieReads._batch",
    ),
    Plant(
        "single reads are sent to a hung bookie", "autorecovery/replication/bookie_reads.py",
        "if refusal is not None: ...", "", _HUNG, where="BookieReads._singles",
    ),
    Plant(
        "the last add confirmed is asked of a hung bookie", "autorecovery/replication/bookie_reads.py",
        "self._unanswering.ask(bookie_id, read)", "read()", _HUNG, where="BookieReads.read_lac",
    ),
    Plant(
        "ledgers of a hung bookie are read on the others again and again", "autorecovery/auditing/ledger_checks.py",
        "unsure.bookies <= (silent if among is None else silent & set(among))", "False", _HUNG,
        where="AllLedgersCheck._is_hopeless",
    ),
    Plant(
        "nothing finds out whether a hung bookie goes on", "autorecovery/auditing/ledger_checks.py",
        "await for_each(chosen, again, self.context.scan.parallel)", "later.update({i: unsure[i] for i in chosen})",
        _HUNG, where="AllLedgersCheck._run",
    ),
    Plant(
        "a check gives up a hung bookie as early as an overloaded one", "autorecovery/auditing/ledger_checks.py",
        "number < LATER_ROUNDS or self._is_hopeless(one)", "number < LATER_ROUNDS", _HUNG,
        where="AllLedgersCheck._run",
    ),
    Plant(
        "a check waits for a hung bookie that is lost meanwhile", "autorecovery/auditing/ledger_checks.py",
        "self._is_hopeless(unsure[ledger_id], still_silent)", "self._is_hopeless(unsure[ledger_id])", _HUNG,
        where="AllLedgersCheck._run",
    ),
    Plant(
        "each listing waits for a hung bookie", "autorecovery/auditing/ledger_checks.py",
        "self.unanswering.ask(bookie_id, partial(self.bookies.list_entries, bookie_id, ledger_id))",
        "self.bookies.list_entries(bookie_id, ledger_id)", _HUNG, where="ReplicasCheck._list",
    ),
)  # fmt: skip

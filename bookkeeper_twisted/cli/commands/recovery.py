"""The command ``recover``: recovers ledgers that have lost their writer or bookies.

If the user names bookies, the command copies the entries of these bookies to other bookies.  It copies ledger by
ledger, and locks each ledger with its replication lock.  If the user names only a ledger, the command closes this
ledger, unless it is closed already.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable

import attrs

from ...autorecovery.metrics import ReplicationMetrics
from ...autorecovery.operations.bookie_recovery import BookieRecovery, PlannedLedger, RecoveredLedger, RecoveryResult
from ...client.admin import BookKeeperAdmin
from ...client.steps import for_each
from ...embedding.local_host import host_name
from ...errors import BookKeeperError, EntriesLostError, NotEnoughBookiesError
from ...instruments import Instruments
from ...limits.throttle import Rate
from ...metadata.undecoded import UndecodedLedgers, undecoded_text
from ...model import LedgerMetadata, Segment, check_bookie_id
from ..shell_command import FAILED, FORCE, OK, PROGRESS, Argument, Command, OperandError, ShellContext, from_
from ..shell_rows import Formats, ShellRow
from ..shell_text import line, on_one_line

_AT_ONCE = 4
_CAUSES: tuple[tuple[type[BookKeeperError], str], ...] = (
    (NotEnoughBookiesError, "Not recovered for lack of bookies: add a bookie with a new id, then recover again"),
    (EntriesLostError, "Not recovered for lack of another copy: start the bookies that have one, or find the old disk"),
    (BookKeeperError, "Not recovered for other reasons, see above"),
)
"""The line behind the summary, by the class of the error for which ledgers were not recovered."""


@attrs.frozen
class ConcernedLedger(ShellRow):
    """A ledger that has an ensemble with at least one of the bookies that the user has named.

    :ivar inspected: the named bookies that are in an ensemble of this ledger.
    """

    ledger_id: int
    state: str
    ensembles: tuple[Segment, ...]
    inspected: tuple[str, ...]

    def text(self, formats: Formats) -> Iterable[str]:
        yield f"ledger {formats.format_id(self.ledger_id)} : {self.state}"
        for segment in self.ensembles:
            marked = " ".join(b + ("*" if b in self.inspected else "") for b in segment.bookies)
            yield f"{segment.first_entry_id}:\t{marked}"
        counts = {s.first_entry_id: len(set(self.inspected).intersection(s.bookies)) for s in self.ensembles}
        yield f"summary: [{', '.join(f'{first}={count}' for first, count in counts.items() if count)}]"


async def recover(shell: ShellContext, options: Namespace) -> int:
    """Copy the entries of lost bookies to other bookies, list the ledgers of these bookies, or close one ledger.

    The options choose one of the three actions.
    """
    bookies = [check_bookie_id(bookie_id) for bookie_id in (options.bookies or "").split(",") if bookie_id]
    if not options.query:
        shell.refuse_json("goes with -query")
    if not bookies and (options.query or options.ledger is None):
        shell.out("Must specify bookies" if options.query else "Must specify bookies, or a ledger with -l")
        return FAILED
    if options.query:
        return await _query(shell, bookies, options.ledger)
    if not (options.dryrun or _confirmed(shell, bookies, options)):
        shell.out("Give up!")
        return FAILED
    async with await shell.admin() as admin:
        if not bookies:
            return await _recover_ledger(shell, admin, options)
        return await _BookiesCommand(shell, admin, bookies, options).run()


def _confirmed(shell: ShellContext, bookies: list[str], options: Namespace) -> bool:
    if not bookies:
        name = shell.format_id(options.ledger)
        return shell.confirmed(f"Are you sure to recover ledger {name} : (Y/N)", options.force)
    if not options.force:
        shell.out(f"Bookies : [{', '.join(bookies)}]")
    return shell.confirmed("Are you sure to recover them : (Y/N)", options.force)


async def _recover_ledger(shell: ShellContext, admin: BookKeeperAdmin, options: Namespace) -> int:
    """Close one ledger that its writer has left open; with ``-dryrun``, only print whether it would be closed."""
    metadata = await admin.client.ledger_metadata(options.ledger)
    name = shell.format_id(options.ledger)
    if not metadata.closed and options.skipOpenLedgers:
        shell.out(line("Skipped: the ledger is open", ledgerId=name))
    elif options.dryrun:
        plan = "nothing to do: the ledger is closed" if metadata.closed else "the ledger would be closed"
        shell.out(line(plan, ledgerId=name))
    else:
        metadata = await admin.recover_ledger(options.ledger)
        shell.out(line("Closed", ledgerId=name, lastEntryId=metadata.last_entry_id, length=metadata.length))
    return OK


@attrs.define
class _Totals:
    """The numbers of ledgers that were recovered, skipped, or not recovered because of an error.

    :ivar by_cause: the numbers of ledgers that were not recovered, by the lines of :data:`_CAUSES`.
    """

    recovered: int = 0
    skipped: int = 0
    failed: int = 0
    by_cause: Counter[str] = attrs.field(factory=Counter)


class _BookiesCommand:
    """Copies the entries of some bookies to other bookies; ``-rate`` limits the bytes read per second."""

    def __init__(self, shell: ShellContext, admin: BookKeeperAdmin, bookies: list[str], options: Namespace) -> None:
        self._shell = shell
        self._admin = admin
        self._options = options
        self._metrics = ReplicationMetrics(Instruments())
        self._recovery = BookieRecovery.assembled(
            shell.world.reactor, admin, bookies, self._metrics, options.skipOpenLedgers, host_name(),
            Rate(bytes=options.replicationRate or 0),
        )  # fmt: skip
        self._totals = _Totals()

    async def run(self) -> int:
        """Recover the ledgers of the bookies, or only print what would be done (``-dryrun``); return the exit status.

        :raises OperandError: no ensemble of the ledger that option ``-l`` names contains one of the bookies.
        :raises MetadataError: the metadata store cannot be reached.
        :raises IncorrectParameterError: option ``-d`` is given but one of the bookies is running.
        """
        if self._options.deleteCookie:
            await self._recovery.check_gone()
        with self._shell.progress("looking for ledgers", unit="ledgers") as advance:
            planned = [ledger async for ledger in self._planned(advance)]
        if self._options.ledger is None:
            for bookie_id in await self._recovery.unknown(planned):
                self._shell.out(line("No ledger names this bookie, and it has no cookie", bookieId=bookie_id))
        if self._options.dryrun:
            self._describe(planned)
            return self._status()
        try:
            await self._recover(planned)
        finally:
            self._summary()  # print the totals even if the recovery is interrupted or the metadata store fails
        if self._status() is not OK:
            return self._status()
        if self._options.deleteCookie:
            for bookie_id in await self._recovery.forget():
                self._shell.out(line("Cookie deleted", bookieId=bookie_id))
        return OK

    def _status(self) -> int:
        """Return the exit status for the ledgers that were not recovered, or will not be."""
        if self._options.skipUnrecoverableLedgers:
            return OK
        return FAILED if self._totals.failed or self._recovery.undecoded.ids else OK

    async def _recover(self, planned: list[PlannedLedger]) -> None:
        with self._shell.progress("recovering", sum(ledger.n_bytes for ledger in planned)) as advance:

            async def recover(ledger: PlannedLedger) -> None:
                self._ended(await self._recovery.recover(ledger))
                advance(ledger.n_bytes)

            await for_each(planned, recover, _AT_ONCE)

    async def _planned(self, advance: Callable[[int], object]) -> AsyncIterator[PlannedLedger]:
        only = self._options.ledger
        async for ledger_id, metadata in _ledgers(self._admin, only, self._recovery.undecoded):
            advance(1)
            found = self._recovery.planned(ledger_id, metadata)
            if found is not None:
                yield found
            elif only is not None:
                raise OperandError(f"ledger {self._shell.format_id(only)} names none of these bookies")

    def _describe(self, planned: list[PlannedLedger]) -> None:
        """Print the ledgers that a recovery would copy, close or skip."""
        for ledger in planned:
            what = "recovered and copied" if ledger.is_open else "copied"
            if ledger.is_open and self._options.skipOpenLedgers:
                what = "skipped"
            name = self._shell.format_id(ledger.ledger_id)
            self._shell.out(line(f"To be {what}", ledgerId=name, bytes=ledger.n_bytes))
        self._shell.out(line("Ledgers to recover", count=len(planned), bytes=sum(each.n_bytes for each in planned)))
        self._name_undecoded()

    def _name_undecoded(self) -> None:
        """Name the first ledgers that are not recovered because their metadata cannot be decoded, if there are any."""
        if text := self._recovery.unjudged(self._shell.format_id):
            self._shell.out(line(f"Not recovered: {text}", reason=on_one_line(self._recovery.undecoded.reason)))

    def _ended(self, ledger: RecoveredLedger) -> None:
        if ledger.result is RecoveryResult.RECOVERED:
            self._totals.recovered += 1
            return
        name = self._shell.format_id(ledger.ledger_id)
        if ledger.result is RecoveryResult.SKIPPED:
            self._totals.skipped += 1
            self._shell.out(line("Skipped: the ledger is open", ledgerId=name))
        else:
            self._totals.failed += 1
            cause = ledger.cause or BookKeeperError
            self._totals.by_cause[next(text for kind, text in _CAUSES if issubclass(cause, kind))] += 1
            self._shell.out(line("Not recovered", ledgerId=name, reason=ledger.reason))

    def _summary(self) -> None:
        metrics, totals = self._metrics, self._totals
        self._shell.out(
            line(
                "Recovered", ledgers=totals.recovered, skipped=totals.skipped, failed=totals.failed,
                entriesRead=metrics.entries_read.value, entriesWritten=metrics.entries_written.value,
            )
        )  # fmt: skip
        for _, text in _CAUSES:
            if count := totals.by_cause[text]:
                self._shell.out(line(text, ledgers=count))
        self._name_undecoded()


async def _query(shell: ShellContext, bookies: list[str], only: int | None) -> int:
    """Print the ensembles of each ledger that has one of ``bookies`` in an ensemble; mark these bookies with ``*``.

    :param only: id of a ledger, to print no other ledger; None for all ledgers.
    """
    shell.caption("NOTE: Bookies in inspection list are marked with '*'.")
    undecoded = UndecodedLedgers()
    async with await shell.admin() as admin:
        with shell.progress("looking for ledgers", unit="ledgers") as advance:
            async for ledger_id, metadata in _ledgers(admin, only, undecoded):
                advance(1)
                inspected = tuple(bookie_id for bookie_id in bookies if bookie_id in metadata.bookies)
                if inspected:
                    shell.show(ConcernedLedger(ledger_id, metadata.state.name, metadata.segments, inspected))
    if undecoded.ids:
        text = undecoded_text(undecoded.ids, "cannot be inspected", shell.format_id)
        shell.world.complain(line(f"recover: {text}", reason=on_one_line(undecoded.reason)))
        return FAILED
    shell.caption("Done")
    return OK


async def _ledgers(
    admin: BookKeeperAdmin, only: int | None, undecoded: UndecodedLedgers
) -> AsyncIterator[tuple[int, LedgerMetadata]]:  # fmt: skip
    """Yield the id and the metadata of each ledger; if ``only`` is given, of this ledger alone.

    :param undecoded: gets the ledgers whose metadata cannot be decoded.
    :raises MetadataSerializationError: the metadata of the ledger ``only`` cannot be decoded.
    :raises NoSuchLedgerMetadataError: the ledger ``only`` does not exist.
    """
    if only is not None:
        yield only, await admin.client.ledger_metadata(only)
        return
    async for ledger_id, metadata in admin.ledgers(undecoded=undecoded):
        yield ledger_id, metadata


COMMANDS = (
    Command(
        "recover", "Recover ledgers after the loss of a writer or of bookies", recover,
        (
            Argument(("bookies",), "bookies to recover, separated by commas"),
            Argument(("-q", "query"), "list the ledgers that name these bookies", bool),
            Argument(("-dr", "dryrun"), "say what would be done", bool),
            FORCE,
            Argument(("-l", "ledger"), "recover this ledger only", "ledger id"),
            Argument(("-sk", "skipOpenLedgers"), "leave open ledgers alone", bool),
            Argument(("-sku", "skipUnrecoverableLedgers"), "succeed although some ledgers cannot be recovered", bool),
            Argument(("-d", "deleteCookie"), "delete the cookies of the bookies at the end", bool),
            Argument(("-rate", "replicationRate"), "bytes a second that are read; no limit if left out", from_(1)),
            PROGRESS,
        ),
        ConcernedLedger,
    ),
)  # fmt: skip

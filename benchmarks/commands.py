"""The commands of ``python -m benchmarks``: where each is, what it measures, how long it takes."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

import attrs


@attrs.frozen
class Command:
    """A command.

    :ivar module: below ``benchmarks``, with a function ``main``.
    :ivar summary: one line of what it measures.
    :ivar duration: about what a run without further arguments takes on two cores.
    """

    module: str
    summary: str
    duration: str

    def main(self) -> Callable[[Sequence[str]], int]:
        """Return the function that takes the arguments and gives the exit status; only now is the module imported."""
        return cast(Callable[[Sequence[str]], int], import_module(f"benchmarks.{self.module}").main)


COMMANDS = {
    "check": Command("compare.check", "our bookie alone: rates, latencies, CPU, syncs, writes", "3 min"),
    "compare": Command("compare.compare", "our bookie and Apache's in turn; writes the results", "2 h"),
    "figures": Command("compare.published", "nothing: writes the figures of the README from the kept results", "1 s"),
    "many_ledgers": Command("bookie.many_ledgers", "adds to one ledger and to many, beside Apache's bookie", "10 min"),
    "scale": Command("bookie.scale", "10 million entries in 100,000 ledgers: memory, starts", "10 min"),
    "scrapes": Command("bookie.scrapes", "what scrapes of /metrics and viewers of the console cost adds", "2 min"),
    "console": Command("console.console", "the console of a thousand bookies: browser and server", "12 min"),
    "pieces": Command("bookie.pieces", "what a lone add costs, by the halves of its way", "10 s"),
    "records": Command("bookie.records", "what TLS costs for a MB, beside the bare call", "10 s"),
    "copies": Command("bookie.copies", "how often the bytes of an add are copied", "2 min"),
    "exchange": Command("bookie.exchange", "an index exchanged with Apache's bookie", "2 min"),
    "compaction": Command("compaction.compaction", "what compaction costs and wins, and its limits", "10 min"),
    "compaction_alone": Command("compaction.compaction_alone", "its limits alone, in this process", "5 min"),
    "rereplication": Command("recovery.rereplication", "how fast lost replicas are made again, and the cost", "5 min"),
    "ledger_check": Command("recovery.ledger_check", "a check of all ledgers: its cost, its limits", "5 min"),
    "repair": Command("recovery.repair", "a lost bookie repaired by Spark, and by a worker", "5 min"),
    "buffers": Command("buffers.buffers", "claim logs beside other ways to queue messages", "1 min"),
    "pool": Command("pool.pool", "many flows over few sockets", "2 min"),
    "doors": Command("pool.doors", "what a call of asyncio costs, by where the reactor runs", "1 min"),
    "writing": Command("writing.writing", "what appends cost a client, beside another source tree", "1 min"),
    "tracing": Command("tracing.tracing", "what traces cost appends, at 0 %, 1 % and 100 %", "2 min"),
    "structure": Command("writing.structure", "the size of the code, and the way of an append", "10 s"),
    "following": Command("reading.following", "how soon an append reaches a reader that follows", "2 min"),
    "striped": Command("reading.striped", "ledgers of which each bookie has some entries only", "3 min"),
    "encrypted": Command("reading.encrypted", "what encrypted ledgers cost a client", "3 min"),
    "spark": Command("spark.spark", "reading through Spark, beside other ways", "5 min"),
    "spark_ledgers": Command("spark.spark_ledgers", "what many ledgers cost Spark's driver", "2 min"),
    "spark_limits": Command("spark.spark_limits", "how exactly Spark keeps a limit of the cluster", "2 min"),
}
"""By the first argument."""


def table() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    return "\n".join(f"{name:{width}}  {c.duration:>6}  {c.summary}" for name, c in COMMANDS.items())

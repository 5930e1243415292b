"""Runs the programs that make the load, and adds to what they measured what the bookies spent."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from .certificates import TlsFiles
from .generator import CHUNK
from .processes import ROOT, TICKS, Bookie
from .workloads import DATA, Workload

Figures = dict[str, float]

_GENERATOR = "benchmarks.shared.generator"


@attrs.frozen
class Generator:
    """Which program sends requests over bare sockets.

    Ledgers are only ids to it, and it begins its entry ids where it likes; so it reads only what it wrote.

    :ivar raw: an external program, with options of its own; None: :mod:`.generator`.
    :ivar tls: of the bookies with which the program begins TLS; only for :mod:`.generator`.
    """

    raw: Path | None = None
    tls: TlsFiles | None = None

    def command(self, mode: str, bookies: Sequence[Bookie], wire: int, ledgers: range, **values: Any) -> list[str]:
        """The command line.

        :param values: further options, which both kinds of program name alike but for ``acks``.
        """
        words: dict[str, Any] = dict(values)
        if self.raw is not None:
            command = [str(self.raw), mode]
            words |= {
                "targets": ",".join(f"127.0.0.1:{bookie.port}" for bookie in bookies),
                "ledgers": ",".join(map(str, ledgers)),
                "proto": wire,
            }
            if "acks" in words:
                words["aq"] = words.pop("acks")
        else:
            command = [sys.executable, "-m", _GENERATOR, mode]
            words |= {
                "ports": ",".join(str(bookie.port) for bookie in bookies),
                "ledger": ledgers.start,
                "ledgers": len(ledgers),
                "wire": wire,
            }
            if self.tls is not None:
                command = ["env", f"OPENSSL_CONF={self.tls.suite}", *command]
                words["trusted"] = self.tls.trusted
        return command + [str(word) for key, value in words.items() for word in (f"--{key}", value)]

    def add(self, w: Workload, bookies: Sequence[Bookie], wire: int, ledgers: range) -> list[str]:
        """The command line of a workload that adds."""
        values = {"size": w.size, "warmup": w.warmup, "count": w.count, "inflight": w.inflight, "acks": w.acks}
        if w.run != 1:
            values["run"] = w.run
        if w.repeats != 1:
            values["repeats"] = w.repeats
        return self.command("add", bookies, wire, ledgers, **values)

    def read(self, w: Workload, bookie: Bookie, wire: int, ledger: int, entries: int) -> list[str]:
        """The command line of a workload that reads ``entries`` entries of a ledger."""
        return self.command(
            w.kind, [bookie], wire, range(ledger, ledger + 1), size=w.size, warmup=w.warmup, count=w.count,
            inflight=min(w.inflight, entries), batch=w.batch, entries=max(entries, w.batch), order=w.order,
        )  # fmt: skip


class Ledgers:
    """Gives each run of adds fresh ledgers, and the reading ones the ledger that was filled for them.

    :param scale: of the entries in the ledgers that are read.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale
        self._next = 1000
        self._filled: dict[tuple[str, int, Generator], int] = {}

    def fresh(self, count: int = 1) -> range:
        """So many ledgers nobody has used."""
        first, self._next = self._next, self._next + count
        return range(first, self._next)

    def entries(self, size: int) -> int:
        """Entries in the ledger that is read, never fewer than what a reader has in flight."""
        return max(int(DATA[size] * self._scale), 4 * CHUNK)

    @property
    def n_filled(self) -> int:
        """How many ledgers were filled for readers."""
        return len(self._filled)

    def filled(self, bookie: Bookie, size: int, generator: Generator) -> int:
        """A ledger that was filled by a generator for itself, now if it was not before."""
        key = (bookie.name, size, generator)
        if key not in self._filled:
            ledger = self.fresh()
            count = self.entries(size)
            subprocess.run(
                generator.command("add", [bookie], 2, ledger, size=size, count=count, inflight=1000),
                check=True, stdout=subprocess.DEVNULL, cwd=ROOT,
            )  # fmt: skip
            self._filled[key] = ledger.start
        return self._filled[key]


def measure(
    command: list[str], bookies: Sequence[Bookie], tree: Path = ROOT, begun: Callable[[], None] = lambda: None
) -> Figures:
    """One run of a load program; the cost of the bookies is sampled over the measured part.

    :param tree: the source tree of the program.
    :param begun: called when that part begins.
    :returns: ``rate``, ``p50_ms`` and ``p99_ms`` as the program printed them, and ``cpu`` in seconds for a million
        entries, no less than one tick; of our bookies with an HTTP server also ``syncs_per_1000`` and
        ``writes_per_1000``.
    :raises RuntimeError: the program failed, or saw an error.
    """
    command = [*command, "--hold"] if _GENERATOR in command else command
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, cwd=tree) as process,
    ):
        assert process.stdout and process.stdin
        line = process.stdout.readline()
        begun()
        before, cpu = [bookie.metrics() for bookie in bookies], sum(bookie.cpu_seconds() for bookie in bookies)
        with contextlib.suppress(BrokenPipeError):  # a program that has ended, or takes no lines
            process.stdin.write("\n")
            process.stdin.close()
        result = process.stdout.readline()
        spent = sum(bookie.cpu_seconds() for bookie in bookies) - cpu
        after = [bookie.metrics() for bookie in bookies]
        process.wait()
        if line.strip() != "MEASURE" or not result.strip() or process.returncode:
            errors.seek(0)
            raise RuntimeError(f"the load program failed: {' '.join(command)[:1000]}\n{errors.read()[-2000:]}")
    printed = json.loads(result)
    entries = printed["entries"]
    if printed["errors"] or not entries:
        raise RuntimeError(f"the load program saw errors: {result.strip()}")
    figures: Figures = {key: printed[key] for key in ("rate", "p50_ms", "p99_ms")}
    figures["cpu"] = max(spent, 1 / TICKS) / entries * 1e6
    for name, metric in (("syncs", "bookie_journal_JOURNAL_SYNC_count"), ("writes", "bookie_connection_writes")):
        if after and metric in after[0]:
            count = sum(b[metric] - a.get(metric, 0.0) for a, b in zip(before, after, strict=True))
            figures[f"{name}_per_1000"] = count / entries * 1000
    return figures

"""Many clusters, many faults, no violation; and the same seed is the same run everywhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parent.parent.parent
SEEDS = 500
N_PROCESSES = 2
RARE = (
    "ensemble change", "shortage", "fencing", "recovery", "concurrent recovery", "restart",
    "batch read", "batch in recovery", "batch with news",
    "flush of threads", "compaction", "removal of a log", "deletion of a ledger",
    "shared batch", "append after a shared one", "failure in a shared batch", "ensemble change of a shared batch",
    "re-replication", "deletion of an over-replicated ledger",
)  # fmt: skip
"""Paths that have to run in one seed of twenty at least."""


def _start(*arguments: object, hash_seed: str = "0") -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.simulation", *map(str, arguments)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


class SeedTests(SynchronousTestCase):
    """``python -m tests.simulation``."""

    timeout = 900

    def test_seeds(self) -> None:
        """Hundreds of seeds keep S12 to S18, and everything ends once the faults are over; each rare path
        runs in one seed of twenty at least."""
        share = SEEDS // N_PROCESSES
        running = [_start("--seeds", share, "--from", 1 + number * share) for number in range(N_PROCESSES)]
        seen = dict.fromkeys(RARE, 0)
        outputs = [process.communicate()[0] for process in running]
        for process, output in zip(running, outputs, strict=True):
            self.assertEqual(output.splitlines()[-1], f"{share} seeds, 0 violations", output)
            self.assertEqual(process.returncode, 0)
            for count, path in re.findall(r"^ *(\d+) seeds, .* %: (.*)$", output, re.MULTILINE):
                if path in seen:
                    seen[path] += int(count)
        self.assertGreaterEqual(min(seen.values()), SEEDS // 20, seen)

    def test_same_seed_same_run(self) -> None:
        """The same seeds give the same traces, whatever the order of sets and of hashes is."""
        running = [_start("--seeds", 6, "--from", 7000, "--trace", hash_seed=hash_seed) for hash_seed in ("1", "2")]
        traces = [re.findall(r"^seed .*: trace .*$", process.communicate()[0], re.MULTILINE) for process in running]
        self.assertEqual(len(set(traces[0])), 6)
        self.assertEqual(traces[0], traces[1])

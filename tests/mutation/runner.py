"""Tries plants: each in a copy of the tree, by the tests that should notice it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from queue import SimpleQueue

import attrs

from .plant import Plant, PlantedTest, StalePlantError

TEST_SECONDS = 30
"""Bound of one test while a plant is tried; those that plant a defect by themselves have ``PLANTED_SECONDS``."""

PLANTED_SECONDS = 200
RUN_SECONDS = 300
"""Bound of a process; what exceeds it is killed."""

_FAILED = re.compile(r"^(\S+) \.\.\. .*\[(?:FAILURE|ERROR)\]", re.MULTILINE)
_REASON = re.compile(r"^(?:Failure: )?([a-z][\w.]*\.[A-Z]\w*: .*)", re.MULTILINE)
_TEST = re.compile(r"\.[A-Z]\w*\.test_\w+$")
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "_trial_temp*", ".*_cache", ".dmypy.json", "_build", "*.egg-info")


class Verdict(Enum):
    """The outcome of a plant."""

    NOTICED = "noticed"
    MISSED = "NOT NOTICED"
    HUNG = "HANGS"
    BROKEN = "BROKEN"


@attrs.frozen
class Trial:
    """A plant that was tried.

    :ivar test: the first that failed.
    :ivar reason: the error, or what is wrong with the plant.
    """

    plant: Plant | PlantedTest
    verdict: Verdict
    seconds: float
    test: str = ""
    reason: str = ""


class Tree:
    """A copy of the repository, in which one module at a time is changed.

    :ivar root: its directory.
    """

    def __init__(self, original: Path, root: Path) -> None:
        self.root = root
        shutil.copytree(original, root, ignore=_NOT_COPIED)

    @contextmanager
    def planted(self, plant: Plant) -> Iterator[None]:
        """The plant's module has the defect."""
        path = self.root / plant.path
        source = path.read_text()
        self._write(path, plant.applied(source))
        try:
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: str) -> None:
        path.write_text(source)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()  # it would be taken for that of another text of the same second and size

    def run(self, names: Sequence[str], test_seconds: float) -> tuple[int | None, str]:
        """Run tests until one fails; returns the exit status, or nothing if the process was killed, and the output."""
        options = ["-W", "error", "-m", "tests", "--jobs=1", "--exitfirst", f"--limit={test_seconds}"]
        process = subprocess.Popen(
            [sys.executable, *options, *names], cwd=self.root, env={**os.environ, "PYTHONPATH": str(self.root)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
        return process.returncode, output


def try_plant(tree: Tree, plant: Plant | PlantedTest, test_seconds: float = TEST_SECONDS) -> Trial:
    """Make the defect, run the tests, and say which of them has noticed it."""
    began = time.monotonic()
    if isinstance(plant, PlantedTest):
        status, output = tree.run([plant.test], PLANTED_SECONDS)
        verdict, test, reason = Verdict.NOTICED if status == 0 else Verdict.MISSED, plant.test, ""
    else:
        try:
            with tree.planted(plant):
                status, output = tree.run(plant.tests, test_seconds)
        except (StalePlantError, OSError) as error:
            return Trial(plant, Verdict.BROKEN, 0.0, reason=str(error))
        verdict, test, reason = judge(status, output)
    return Trial(plant, verdict, time.monotonic() - began, test, reason)


def judge(status: int | None, output: str) -> tuple[Verdict, str, str]:
    """The verdict of a run, the first test that failed and the error."""
    if status == 0:
        return Verdict.MISSED, "", ""
    failed, why = _FAILED.search(output), _REASON.search(output)
    test = failed[1] if failed else ""
    reason = why[1] if why else output.strip().rpartition("\n")[2]
    if "Overrun" in reason or "still running" in reason or not test:
        return Verdict.HUNG, test, reason
    if not _TEST.search(test):
        return Verdict.BROKEN, test, reason
    return Verdict.NOTICED, test, reason


def try_all(
    original: Path, scratch: Path, plants: Sequence[Plant | PlantedTest], jobs: int, report: Callable[[Trial], None]
) -> list[Trial]:
    """Try plants in parallel, each job in a tree of its own; the report is called as they end."""
    trees: SimpleQueue[Tree] = SimpleQueue()
    for job in range(jobs):
        trees.put(Tree(original, scratch / str(job)))

    def work(plant: Plant | PlantedTest) -> Trial:
        tree = trees.get()
        try:
            return try_plant(tree, plant)
        finally:
            trees.put(tree)

    trials = []
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(work, plant) for plant in plants]):
            trials.append(future.result())
            report(trials[-1])
    return trials

"""What an offer asks of the interpreter's allocators, and what pending messages hold.

A call is one ``malloc``, ``calloc`` or ``realloc`` of ``PYMEM_DOMAIN_OBJ`` or ``PYMEM_DOMAIN_MEM``, whether its
block is freed at once or stays.  Calls are counted by a hook in C (``allocations.c``), which is compiled when it is
wanted.  An object the interpreter takes from a list of free ones (in 3.11 floats, lists, dicts and short tuples) is
no call.  An integer above 256 is one, and so is the length of a payload of more bytes, which these do not have.
"""

import ctypes
import subprocess
import tempfile
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from . import buffer_paths as paths

_SOURCE = Path(__file__).with_suffix(".c")
_REPEATS = 10
_BARS = {"25 B": 1, "variable": 2}


class Hook:
    """Counts calls while something runs; one at a time, and nothing else may run meanwhile."""

    def __init__(self, compiler: str = "cc") -> None:
        """
        :raises OSError: there is no such compiler, or what it made cannot be loaded.
        :raises subprocess.CalledProcessError: it cannot make it.
        """
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder, "allocations.so")
            command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(_SOURCE)]
            subprocess.run(command, check=True, capture_output=True)
            hook = ctypes.PyDLL(str(library))
        self._start, self._stop = hook.start, hook.stop
        self._start.restype, self._stop.restype = None, ctypes.c_longlong

    def count(self, run: Callable[[], object]) -> int:
        """How many calls ``run`` makes, and the few that starting and stopping do."""
        self._start()
        try:
            run()
        finally:
            calls: int = self._stop()
        return calls


def calls_of_an_offer(hook: Hook, offer: paths.Offer, payloads: Sequence[bytes]) -> float:
    """Calls for each message: those of a loop that offers, without those of a loop that does nothing.

    What happens once in a block of many thousand messages is lost in rounding.
    """
    calls = hook.count(lambda: _offer_all(offer, payloads)) - hook.count(lambda: _offer_none(payloads))
    return round(calls / len(payloads), 2)


def bytes_held(offer: paths.Offer, payloads: Sequence[bytes]) -> int:
    """By how many bytes everything allocated grows while as many messages again become pending.

    As many are pending before, so that what a log holds once (its position, the block it fills) is in both.
    Blocks and payloads exist before; all messages have to fit the block that is being filled.
    """
    held = array("q", (0, 0))  # not a list: an integer in there would be counted
    tracemalloc.start()
    try:
        for i in range(2):
            _offer_all(offer, payloads)
            held[i] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return held[1] - held[0]


def allocation_rows(
    payloads: Mapping[str, Sequence[bytes]], compiler: str = "cc"
) -> Iterator[tuple[str, float, float]]:
    """Name, bar from above, figure.

    :param payloads: of a round, by kind.
    :param compiler: without it there are no rows of calls, and a line says so.
    """
    try:
        hook = Hook(compiler)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"allocator calls of an offer: left out, no C compiler makes the hook ({error})", flush=True)
    else:
        for kind, bar in _BARS.items():
            for name, offer in _warm(payloads[kind]):
                calls = calls_of_an_offer(hook, offer, [*payloads[kind]] * _REPEATS)
                yield f"{name}: allocator calls of an offer, {kind}", bar, calls
    for name, offer in _warm(payloads["25 B"]):
        size = len(payloads["25 B"])
        what = f"bytes {size} pending messages hold beside the memory blocks"
        yield f"{name}: {what}", 0, bytes_held(offer, payloads["25 B"])


def _warm(payloads: Sequence[bytes]) -> Iterator[tuple[str, paths.Offer]]:
    """An empty log, and its name, that has made what frames of a size share; its code is specialised."""
    offer, drain = paths.shared()
    _offer_all(offer, payloads)
    drain()
    yield "shared", offer


def _offer_all(offer: paths.Offer, payloads: Sequence[bytes]) -> None:
    for payload in payloads:
        offer(payload)


def _offer_none(payloads: Sequence[bytes]) -> None:
    for _ in payloads:
        pass

"""How long nobody can write to a bookie that was killed."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

from .generator import FIRST_ID, add_frames

_PAUSE = 0.002
_PATIENCE = 60.0
_ANSWER_SECONDS = 2.0


def _acknowledged(port: int, frame: bytes) -> bool:
    """Whether a bookie takes an add, by V2, now."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), _ANSWER_SECONDS) as sock:
        sock.sendall(frame)
        with sock.makefile("rb") as answers:
            answer = answers.read(12)
        return len(answer) == 12 and struct.unpack(">I", answer[8:])[0] == 0
    return False


@contextlib.contextmanager
def until_writable(port: int, ledger_id: int) -> Iterator[Callable[[], float]]:
    """Tries to write from here on, in a thread, until it succeeds.

    :param ledger_id: nobody else's.
    :returns: what waits for that, and returns the seconds it took.
    """
    frame = add_frames(2, ledger_id, FIRST_ID, 1, 1024)
    seconds: list[float] = []
    begun = time.monotonic()

    def attempt() -> None:
        while time.monotonic() - begun < _PATIENCE:
            if _acknowledged(port, frame):
                seconds.append(time.monotonic() - begun)
                return
            time.sleep(_PAUSE)

    def wait() -> float:
        thread.join()
        if not seconds:
            raise RuntimeError(f"nothing could be written within {_PATIENCE:.0f} s")
        return seconds[0]

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    yield wait

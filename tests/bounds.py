"""Loops that the code under test has to end, bounded by the number of their rounds."""

import threading
from collections.abc import Callable, Iterator

_LONGEST_JOIN = 20.0


def until(reached: Callable[[], object], most: int = 1000) -> Iterator[int]:
    """Counts rounds from 0 as long as something is not reached: ``for _ in until(lambda: done): step()``.

    :param most: rounds without it.
    :raises AssertionError: it is not reached after that many.
    """
    for number in range(most):
        if reached():
            return
        yield number
    if not reached():
        raise AssertionError(f"not reached in {most} rounds")


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Starts work in a thread that does not keep the process alive."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def join(*threads: threading.Thread) -> None:
    """Waits for the ends of threads.

    :raises AssertionError: one of them does not end.
    """
    for thread in threads:
        thread.join(_LONGEST_JOIN)
        assert not thread.is_alive(), f"{thread.name} does not end"

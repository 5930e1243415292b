"""The base classes of blocking objects, each of which waits for the calls of one of Twisted's."""

from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from .. import client
from ..client.steps import Iteration, take
from ..ledger.entry_batch import EntryBatch
from ..model import Entry
from .reactor_thread import ReactorThread, check_timeout

T = TypeVar("T")
InnerT = TypeVar(
    "InnerT", bound=client.BookKeeper | client.LedgerWriter | client.AdvLedgerWriter | client.LedgerReader
)


class Handle(Generic[InnerT]):
    """An object of the blocking door; a context of it closes it."""

    def __init__(self, inner: InnerT, thread: ReactorThread) -> None:
        """:param inner: on the reactor of ``thread``; closed with this object."""
        self._inner = inner
        self._thread = thread
        self._wait = thread.wait

    @classmethod
    def _connected(
        cls, connect: Callable[[Any], Awaitable[InnerT]], thread: ReactorThread, timeout: float | None
    ) -> Self:
        """:param connect: makes the object inside, on a reactor."""
        return cls(thread.wait(lambda: connect(thread.reactor), timeout), thread)

    def _call(self, work: Callable[[], T]) -> T:
        """Run ``work``, which waits for nothing, on the thread of the reactor, where the object inside belongs."""

        async def call() -> T:
            return work()

        return self._wait(call)

    def _iterate(self, items: Iteration[T], at_once: int, timeout: float | None) -> Iterator[T]:
        """Iterate over an iteration of Twisted.

        :param at_once: items that are waited for together.
        :param timeout: seconds of each wait.
        """
        check_timeout(timeout)
        return self._taken(items, at_once, timeout)

    def _taken(self, items: Iteration[T], at_once: int, timeout: float | None) -> Iterator[T]:
        try:
            while part := self._wait(lambda: take(items, at_once), timeout):
                yield from part
        finally:
            self._thread.begin(items.aclose)  # not waited for: this may be garbage collected on any thread

    def close(self, *, timeout: float | None = None) -> None:
        """Close the object inside.

        :param timeout: seconds that the call waits at most; None for any time.
        """
        self._wait(self._inner.close, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; an error of the body is not hidden by one of the close."""
        try:
            self.close()
        except Exception:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<blocking {repr(self._inner)[1:]}"


def each(batches: Iterator[EntryBatch]) -> Iterator[Entry]:
    """Iterate over the entries of ``batches``, with one wait for each batch."""
    for batch in batches:
        yield from batch

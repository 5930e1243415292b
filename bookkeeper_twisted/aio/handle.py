"""The base classes of asyncio's objects, each of which waits for the calls of one of Twisted's.

An object refuses calls on any event loop but the one on which it was made: only that loop runs its reactor.
"""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from .. import client
from ..client.steps import Iteration, take
from ..errors import IllegalOperationError
from ..ledger.entry_batch import EntryBatch
from ..model import Entry
from .reactor import LoopReactor, acquire_reactor, release_reactor, result_of

T = TypeVar("T")
InnerT = TypeVar(
    "InnerT", bound=client.BookKeeper | client.LedgerWriter | client.AdvLedgerWriter | client.LedgerReader
)


class Handle(Generic[InnerT]):
    """An object of asyncio's door; a context of it closes it."""

    def __init__(self, inner: InnerT) -> None:
        """:param inner: on a reactor that the running loop runs; closed with this object."""
        self._inner = inner
        self._loop = get_running_loop()

    @property
    def _on_own_loop(self) -> InnerT:
        """The object inside, for a call on its event loop.

        :raises IllegalOperationError: another loop runs, on which a result would come, if at all, without waking it; or
            no loop runs on this thread.
        """
        try:
            if get_running_loop() is self._loop:
                return self._inner
        except RuntimeError:
            detail = "works on its event loop alone, and none runs on this thread"
        else:
            detail = "was made on another event loop, and works on that one alone"
        raise IllegalOperationError(f"{self!r} {detail}")

    def _iterate(self, items: Iteration[T], at_once: int = 1) -> AsyncGenerator[T, None]:
        """Iterate in asyncio over an iteration of Twisted; leaving the loop ends both.

        :param items: an iteration of the object inside.
        :param at_once: items that are waited for together.
        """
        return _OwnLoopIteration(self, _taken(items, at_once))

    def _each(self, batches: AsyncGenerator[EntryBatch, None]) -> AsyncGenerator[Entry, None]:
        """Iterate over the entries of ``batches``, with one wait for each batch."""
        return _Entries(self._loop, batches)

    async def close(self) -> None:
        """Close the object inside."""
        await result_of(self._on_own_loop.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; an error of the body is not hidden by one of the close."""
        try:
            await self.close()
        except Exception:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<aio {repr(self._inner)[1:]}"


class Connection(Handle[InnerT]):
    """A handle that keeps the loop's reactor for as long as it is open."""

    def __init__(self, inner: InnerT, reactor: LoopReactor | None = None) -> None:
        """
        :param inner: as of :class:`Handle`.
        :param reactor: released when this is closed.
        """
        super().__init__(inner)
        self._reactor = reactor

    @classmethod
    async def _connected(cls, connect: Callable[[Any], Awaitable[InnerT]]) -> Self:
        """:param connect: makes the object inside, on a reactor."""
        reactor = await acquire_reactor()
        try:
            return cls(await result_of(connect(reactor)), reactor)
        except BaseException:
            await release_reactor(reactor)
            raise

    async def close(self) -> None:
        """Close the object inside, and release the reactor."""
        inner = self._on_own_loop
        try:
            await result_of(inner.close())
        finally:
            reactor, self._reactor = self._reactor, None
            if reactor is not None:
                await release_reactor(reactor)


class _OwnLoopIteration(AsyncGenerator[T, None]):
    """An iteration that refuses each step on another event loop than that of its object, and does not end by that.

    A generator alone would wait for ever there.  Once ``asyncio.run`` has closed it at the end of its loop, it would
    say that there are no more items, which need not be true.
    """

    def __init__(self, handle: Handle[Any], items: AsyncGenerator[T, None]) -> None:
        """:param handle: what makes the items; its event loop is that of this iteration."""
        self._handle = handle
        self._items = items

    def _checked(self) -> AsyncGenerator[T, None]:
        self._handle._on_own_loop  # noqa: B018  # raises an error on another event loop
        return self._items

    def __anext__(self) -> Coroutine[Any, Any, T]:
        return self._checked().__anext__()

    def asend(self, value: None) -> Coroutine[Any, Any, T]:
        return self._checked().asend(value)

    def athrow(self, *error: Any) -> Coroutine[Any, Any, T]:
        return self._checked().athrow(*error)

    def aclose(self) -> Coroutine[Any, Any, None]:
        return self._checked().aclose()


class _Entries(AsyncGenerator[Entry, None]):
    """The entries of batches, with one wait for each batch."""

    def __init__(self, loop: AbstractEventLoop, batches: AsyncGenerator[EntryBatch, None]) -> None:
        """:param loop: the event loop that the batches need."""
        self._loop = loop
        self._batches = batches
        self._batch: Iterator[Entry] = iter(())

    async def __anext__(self) -> Entry:
        # For an entry that is here already, asking which loop runs would take longer than all the rest of this.
        if self._loop.is_running():
            for entry in self._batch:
                return entry
        while True:
            self._batch = iter(await anext(self._batches))
            for entry in self._batch:
                return entry

    def asend(self, value: None) -> Coroutine[Any, Any, Entry]:
        return self.__anext__()

    async def athrow(self, *error: Any) -> Entry:
        thrown, self._batch = self._batches.athrow(*error), iter(())
        await thrown
        raise StopAsyncIteration

    async def aclose(self) -> None:
        closed, self._batch = self._batches.aclose(), iter(())
        await closed


async def _taken(items: Iteration[T], at_once: int) -> AsyncGenerator[T, None]:
    try:
        while part := await result_of(take(items, at_once)):
            for item in part:
                yield item
    finally:
        await result_of(items.aclose())

"""The base classes of asyncio's objects, each of which waits for the calls of one of Twisted's.

An object refuses calls on any event loop but the one on which it was made: only that loop runs its reactor.
"""

from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
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

        :raises IllegalOperationError: another loop runs.  A result would come, if at all, without waking that loop.
        """
        if get_running_loop() is not self._loop:
            raise IllegalOperationError(f"{self!r} was made on another event loop, and works on that one alone")
        return self._inner

    async def _iterate(self, items: Iteration[T], at_once: int = 1) -> AsyncGenerator[T, None]:
        """Iterate in asyncio over an iteration of Twisted; leaving the loop ends both.

        :param items: an iteration of the object inside.
        :param at_once: items that are waited for together.
        """
        self._on_own_loop  # noqa: B018  # begins nothing on another event loop
        try:
            while part := await result_of(take(items, at_once)):
                for item in part:
                    yield item
        finally:
            await result_of(items.aclose())

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


async def each(batches: AsyncGenerator[EntryBatch, None]) -> AsyncGenerator[Entry, None]:
    """Iterate over the entries of ``batches``, with one wait for each batch."""
    async with aclosing(batches):
        async for batch in batches:
            for entry in batch:
                yield entry

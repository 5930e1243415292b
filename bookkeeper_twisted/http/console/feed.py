"""The feed of a process: samples the parts of the console once for all viewers, and keeps the last changes.

An event is bytes of a stream of server-sent events.  Its id is ``<start>-<number>``; a feed of another process, or
of the same process after a restart, has another start.
"""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from ...shared_result import SharedResult
from .sources import KnownState, RecordSource, Source, StateSource, dumped, members

INTERVAL = 1.0
"""Seconds between two samples."""

MAX_VIEWERS = 16
KEPT_CHANGES = 60
KEPT_BYTES = 512 * 1024
"""Maximum number of bytes of changes that are kept for viewers that reconnect."""

KEEP_ALIVE = 15.0
"""Seconds without a change after which viewers get a comment, so that proxies keep the connection open."""

PATIENCE = 5.0
"""Seconds after which a viewer that does not read is dropped."""

LEAST_PATIENCE = 1.0
"""Seconds after which a viewer that does not read is dropped if another one wants its place."""

MOST_UNREAD = 2 * 1024 * 1024
"""Bytes that a viewer has not read from which it is dropped."""


class Viewer(Protocol):
    """A connection that gets the events of a feed.

    :ivar unread: number of bytes that were sent and that the client has not received.
    """

    @property
    def unread(self) -> int: ...

    def idle_for(self) -> float:
        """Return for how many seconds the client has read nothing, although there was something to read."""

    def send(self, event: bytes) -> None:
        """Write an ``event`` to the connection; if it is full, drop the event, and ask for a snapshot later."""

    def end(self) -> None:
        """End the response, because the server stops."""

    def drop(self) -> None:
        """Abort the connection, because the viewer does not read."""


class ConsoleFeed:
    """Samples some sources every :data:`INTERVAL` while it has viewers, and sends them what has changed.

    :param clock: the reactor.
    :param sources: the parts of the console; their names differ.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, sources: Sequence[Source]) -> None:
        self._clock = clock
        self._states = [source for source in sources if isinstance(source, StateSource)]
        self._records = [source for source in sources if isinstance(source, RecordSource)]
        self._viewers: dict[Viewer, None] = {}
        self._start = f"{int(clock.seconds() * 1000):x}"
        self._number = self._ticks = 0
        self._known = {source.name: KnownState(source.rows) for source in self._states}
        self._counts: dict[str, list[int]] = {}
        self._reading: dict[str, Deferred[None]] = {}
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT_CHANGES)
        self._snapshot: tuple[int, bytes] = (-1, b"")
        self._timer: IDelayedCall | None = None
        self._sent_at = 0.0
        self._whole: SharedResult[str] = SharedResult()
        self._whole_at = -INTERVAL

    # -- viewers --

    def make_room(self) -> bool:
        """Test whether there is a place for another viewer; a viewer that does not read gives its place away."""
        if len(self._viewers) >= MAX_VIEWERS:
            slowest = max(self._viewers, key=lambda viewer: viewer.idle_for())
            if slowest.idle_for() < LEAST_PATIENCE:
                return False
            self._drop(slowest)
        return True

    def join(self, viewer: Viewer, last_event_id: str = "") -> None:
        """Send events to a ``viewer`` from now on: first what it has missed, or a snapshot.

        :param last_event_id: id of the last event that the viewer has received; empty if it has received none.
        """
        if self._timer is None:
            self._sample()
        self._flush()
        missed = self._missed(last_event_id)
        self._viewers[viewer] = None
        for event in [self.snapshot()] if missed is None else missed:
            viewer.send(event)

    def leave(self, viewer: Viewer) -> None:
        """Send a ``viewer`` nothing more; without viewers, nothing is sampled."""
        self._viewers.pop(viewer, None)
        if not self._viewers and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """End the responses of all viewers and all readings, because the server stops."""
        for viewer in list(self._viewers):
            self.leave(viewer)
            viewer.end()
        for reading in list(self._reading.values()):
            reading.cancel()

    def _missed(self, last_event_id: str) -> list[bytes] | None:
        """Return the changes after an event; None if they are not kept."""
        start, _, text = last_event_id.partition("-")
        if start != self._start or not (text.isascii() and text.isdigit()) or len(text) > len(str(self._number)):
            return None
        number = int(text)
        oldest = self._kept[0][0] if self._kept else self._number + 1
        if not oldest - 1 <= number <= self._number:
            return None
        return [event for at, event in self._kept if at > number]

    # -- events --

    def snapshot(self) -> bytes:
        """Return an event with all states that are known and all records; all viewers get the same bytes."""
        if self._snapshot[0] != self._number:
            parts = {name: text for name, known in self._known.items() if (text := known.whole())}
            for source in self._records:
                counts = self._counts.get(source.name, [])
                parts[source.name] = dumped(source.before(counts))
            self._snapshot = self._number, self._event("snapshot", parts)
        return self._snapshot[1]

    async def read_all(self) -> str:
        """Return all states and all records as JSON, for a client that wants no stream.

        They are at most :data:`INTERVAL` old: all clients that ask in this time get the same text, so that many clients
        cost a bookie little more than one.
        """
        now = self._clock.seconds()
        if now - self._whole_at >= INTERVAL:
            self._whole, self._whole_at = SharedResult(), now
            self._whole.run(self._read_whole())
        return await self._whole.wait()

    async def _read_whole(self) -> str:
        parts = {source.name: dumped(await self._read(source)) for source in self._states}
        parts |= {source.name: dumped(source.after([])) for source in self._records}
        return members(parts)

    def _event(self, kind: str, parts: dict[str, str]) -> bytes:
        return f"id: {self._start}-{self._number}\nevent: {kind}\ndata: {members(parts)}\n\n".encode(errors="replace")

    def _flush(self) -> None:
        """Send what has changed since the last event."""
        changed = {name: text for name, known in self._known.items() if (text := known.change())}
        for source in self._records:
            before = self._counts.get(source.name, [])
            counts = self._counts[source.name] = source.counts()
            if counts != before:
                changed[source.name] = dumped(source.after(before))
        if changed:
            self._number += 1
            event = self._event("change", changed)
            self._keep(event)
            self._send(event)
        elif self._clock.seconds() - self._sent_at >= KEEP_ALIVE:
            self._send(b":\n\n")

    def _keep(self, event: bytes) -> None:
        self._kept.append((self._number, event))
        while sum([len(each) for _, each in self._kept]) > KEPT_BYTES:
            self._kept.popleft()

    def _send(self, event: bytes) -> None:
        self._sent_at = self._clock.seconds()
        for viewer in self._viewers:
            viewer.send(event)

    def _drop(self, viewer: Viewer) -> None:
        self.leave(viewer)
        viewer.drop()

    # -- samples --

    def _sample(self) -> None:
        """Begin to read the states that are due; a state whose last reading has not ended is left out."""
        for source in self._states:
            if self._ticks % source.every == 0 and source.name not in self._reading:
                reading = self._reading[source.name] = Deferred.fromCoroutine(self._read_into(source))
                reading.addErrback(self._failed).addBoth(self._ended, source.name, reading)
                if reading.called:
                    self._reading.pop(source.name, None)
        self._ticks += 1
        self._timer = self._clock.callLater(INTERVAL, self._tick)

    def _ended(self, _: object, name: str, reading: "Deferred[None]") -> None:
        if self._reading.get(name) is reading:
            del self._reading[name]

    def _tick(self) -> None:
        self._timer = None
        self._flush()
        for viewer in list(self._viewers):
            if viewer.unread >= MOST_UNREAD or viewer.idle_for() >= PATIENCE:
                self._drop(viewer)
        if self._viewers:
            self._sample()

    async def _read_into(self, source: StateSource) -> None:
        self._known[source.name].take(await self._read(source))

    async def _read(self, source: StateSource) -> object:
        """Return a state; if it cannot be read, an object with the member ``error``."""
        try:
            return await source.read()
        except (BookKeeperError, OSError) as error:
            return {"error": str(error)}

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("a part of the console could not be read", failure)

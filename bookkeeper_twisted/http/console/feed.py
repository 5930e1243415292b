"""Reads the sources of the console, and sends their changes to all viewers as server-sent events.

The id of an event is ``<start>-<number>``.  The start is the time at which the feed was made; so after a restart of the
process, the server recognizes ids of the previous process.
"""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import attrs
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...errors import BookKeeperError
from ...shared_result import SharedResult
from .sources import KnownState, RecordSource, Source, StateSource, dumped, members

INTERVAL = 1.0
"""Seconds between two readings of the sources."""

LATE = 5.0
"""Seconds that the reading of a state may take; after that, viewers are told that they see an earlier state."""

RETURN = 2 * INTERVAL
"""Seconds for which sources are read without a viewer, if one whose response has ended in time is expected to return.
"""

MAX_VIEWERS = 16
KEPT_CHANGES = 60
KEPT_BYTES = 512 * 1024
"""Maximum number of bytes of recent events that are kept for viewers that reconnect."""

KEEP_ALIVE = 5.0
"""Seconds without an event after which a comment is sent to viewers.

Proxies keep the connection open for it, and a page that hears nothing for three times as long tells that it is old.
"""

PATIENCE = 5.0
"""Seconds after which the connection of a viewer that does not read is aborted."""

LEAST_PATIENCE = 1.0
"""If all viewers' connections are in use, a new viewer gets one whose viewer has not read for this many seconds."""

LEAST_TURN = 30.0
"""If all viewers seem to read, a new one gets the connection of the one that has been connected for the longest time,
at least for this many seconds.  A page that was ended this way connects again; one that has stopped reading does not.
"""

MOST_UNREAD = 2 * 1024 * 1024
"""The connection of a viewer is aborted when this number of bytes was sent but not read."""


class Viewer(Protocol):
    """A connection to which a feed sends events.

    :ivar unread: number of bytes that were sent but not received by the client.
    """

    @property
    def unread(self) -> int: ...

    def idle_for(self) -> float:
        """Return the number of seconds for which the client has read nothing although there are unread bytes."""

    def send(self, event: bytes) -> None:
        """Write an ``event`` to the connection; if the connection is full, drop the event and send a snapshot later."""

    def end(self) -> None:
        """End the response, because the server stops."""

    def drop(self) -> None:
        """Abort the connection, because the viewer does not read."""


class _Unread(dict[str, str]):
    """The value of a state that could not be read: a dict with the only key ``error``, which says why."""


@attrs.frozen
class _Reading:
    """A reading of a state that has not ended.

    :ivar began: the time at which it began, in seconds of the clock.
    :ivar ended: fires when the state was read, or reading it failed; cancelling it ends the reading.
    """

    began: float
    ended: Deferred[None]


class ConsoleFeed:
    """Reads the sources every :data:`INTERVAL` while there are viewers, and sends the changes to all viewers.

    :param clock: the reactor.
    :param sources: the sources of the console; no two have the same name.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, sources: Sequence[Source]) -> None:
        self._clock = clock
        self._states = [source for source in sources if isinstance(source, StateSource)]
        self._records = [source for source in sources if isinstance(source, RecordSource)]
        self._viewers: dict[Viewer, float] = {}  # with the times at which they joined, the first one first
        self._start = f"{int(clock.seconds() * 1000):x}"
        self._number = self._ticks = 0
        self._known = {source.name: KnownState(source.rows) for source in self._states}
        self._counts: dict[str, list[int]] = {}
        self._readings: dict[str, _Reading] = {}
        self._unread_since: dict[str, float] = {}  # when the first reading began since the last that succeeded
        self._paused: dict[str, float] = {}  # states of before a pause of the process, and when it began
        self._ticked = self._resumed = self._expected_until = 0.0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT_CHANGES)
        self._snapshot: tuple[int, bytes] = (-1, b"")
        self._timer: IDelayedCall | None = None
        self._sent_at = 0.0
        self._whole: SharedResult[str] = SharedResult()
        self._whole_at = -INTERVAL

    # -- viewers --

    def make_room(self) -> bool:
        """Test whether another viewer can be accepted; if there are too many, end the response of one of them.

        This is the viewer that has not read for the longest time, for :data:`LEAST_PATIENCE` at least.  Without such a
        viewer, it is the one that has been connected for the longest time, for :data:`LEAST_TURN` at least.
        """
        if len(self._viewers) < MAX_VIEWERS:
            return True
        slowest = max(self._viewers, key=lambda viewer: viewer.idle_for())
        if slowest.idle_for() >= LEAST_PATIENCE:
            self._drop(slowest)
            return True
        # The system of a viewer that has stopped reading confirms all events until its buffers are full.  On a quiet
        # cluster this takes hours, and until then nobody can tell this viewer from one that reads.
        oldest, joined = next(iter(self._viewers.items()))
        if self._clock.seconds() - joined < LEAST_TURN:
            return False
        self.leave(oldest)
        oldest.end()
        return True

    def join(self, viewer: Viewer, last_event_id: str = "") -> None:
        """Add a ``viewer``: send it the events after the last one that it has received, or a snapshot.

        :param last_event_id: id of the last event that the viewer has received; empty if it has received none.
        """
        is_first = self._timer is None
        self._note_pause()
        if is_first:
            self._forget()
            self._sample()
        self._note_late()
        self._flush()
        missed = None if is_first else self._missed(last_event_id)  # it has to learn which states are not known now
        self._viewers[viewer] = self._clock.seconds()
        for event in [self.snapshot()] if missed is None else missed:
            viewer.send(event)

    def _forget(self) -> None:
        """Forget the states that earlier viewers got, and read all states at the next sample.

        They may be hours old, so the first viewer since then must not get them as the present states.
        """
        self._ticks, self._snapshot = 0, (-1, b"")
        self._paused.clear()
        self._unread_since = dict.fromkeys(self._readings, self._clock.seconds())
        self._known = {source.name: KnownState(source.rows) for source in self._states}

    def leave(self, viewer: Viewer) -> None:
        """Remove a ``viewer``; if it was the last one, stop collecting data for the console.

        After :meth:`expect_return`, the collection stops only if no viewer has joined within :data:`RETURN`.
        """
        self._viewers.pop(viewer, None)
        if not self._viewers and self._clock.seconds() >= self._expected_until:
            self._stop()

    def expect_return(self) -> None:
        """Go on for :data:`RETURN` without a viewer: one whose response ends in time connects again at once.

        It then gets what it has missed.  As the first viewer after a time without any, it would be told that what it
        shows is old.
        """
        self._expected_until = self._clock.seconds() + RETURN

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """End the responses of all viewers, and cancel all reads of sources; called when the server stops."""
        for viewer in list(self._viewers):
            self.leave(viewer)
            viewer.end()
        self._stop()
        for reading in list(self._readings.values()):
            reading.ended.cancel()

    def _missed(self, last_event_id: str) -> list[bytes] | None:
        """Return all events after the event with the given id; None if some of them are not kept any more."""
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
        """Return the event ``snapshot``: the state or the records of each data source, as they were last read.

        The event is encoded once after each reading, and all viewers get the same bytes.
        """
        if self._snapshot[0] != self._number:
            parts = {name: text for name, known in self._known.items() if (text := known.whole())}
            for source in self._records:
                counts = self._counts.get(source.name, [])
                parts[source.name] = dumped(source.before(counts))
            self._snapshot = self._number, self._event("snapshot", parts)
        return self._snapshot[1]

    async def read_all(self) -> str:
        """Return the states and records of all data sources as JSON, for a client that requests no stream.

        A state that takes more than :data:`LATE` seconds to read has the only member ``error``, which says why if the
        source knows it.  All requests within
        :data:`INTERVAL` seconds get the same text, so that a large number of clients costs a bookie
        little more than one client.
        """
        now = self._clock.seconds()
        if now - self._whole_at >= INTERVAL:
            self._whole, self._whole_at = SharedResult(), now
            self._whole.run(self._read_whole())
        return await self._whole.wait()

    async def _read_whole(self) -> str:
        found = await gatherResults([self._read_in_time(source) for source in self._states])
        parts = {source.name: dumped(state) for source, state in zip(self._states, found, strict=True)}
        parts |= {source.name: dumped(source.after([])) for source in self._records}
        return members(parts)

    def _read_in_time(self, source: StateSource) -> "Deferred[object]":
        def late(_: object, seconds: float) -> object:
            why = source.why_late()
            return _Unread(error=f"it could not be read within {seconds:g} s" + (f": {why}" if why else ""))

        return Deferred.fromCoroutine(self._read(source)).addTimeout(LATE, self._clock, late)

    def _event(self, kind: str, parts: dict[str, str]) -> bytes:
        return f"id: {self._start}-{self._number}\nevent: {kind}\ndata: {members(parts)}\n\n".encode(errors="replace")

    def _flush(self) -> None:
        """Send an event with the changes since the last event to all viewers, if there are any."""
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
        """Begin to read the states whose interval has passed, and those of before a pause of the process.

        A state that is still being read is skipped.
        """
        for source in self._states:
            is_due = self._ticks % source.every == 0 or source.name in self._paused
            if is_due and source.name not in self._readings:
                self._unread_since.setdefault(source.name, self._clock.seconds())
                ended = Deferred.fromCoroutine(self._read_into(source))
                self._readings[source.name] = _Reading(self._clock.seconds(), ended)
                ended.addErrback(self._failed).addBoth(self._ended, source.name)
        self._ticks += 1
        self._ticked = self._clock.seconds()
        self._timer = self._clock.callLater(INTERVAL, self._tick)

    def _note_pause(self) -> None:
        """Let all states be earlier ones until they are read again, if this process did not run for some seconds."""
        now = self._clock.seconds()
        if now - self._ticked >= INTERVAL + LATE:
            self._paused = {source.name: self._ticked for source in self._states}
            self._resumed = self._ticked = now

    def _note_late(self) -> None:
        """Tell viewers, as the state ``late``, which states are earlier ones, and since when none could be read.

        The state ``whyLate`` has the reasons that are known.
        """
        now = self._clock.seconds()
        late = self._paused | {
            name: self._unread_since[name]
            for name, reading in self._readings.items()
            if now - reading.began >= LATE
        }  # fmt: skip
        if late or "late" in self._known:
            self._known.setdefault("late", KnownState("")).take(late)
            why = dict.fromkeys(self._paused, "this process did not run")
            why |= {source.name: text for source in self._states if source.name in late and (text := source.why_late())}
            self._known.setdefault("whyLate", KnownState("")).take(why)

    def _ended(self, _: object, name: str) -> None:
        del self._readings[name]

    def _tick(self) -> None:
        self._timer = None
        self._note_pause()
        self._note_late()
        self._flush()
        for viewer in list(self._viewers):
            if viewer.unread >= MOST_UNREAD or viewer.idle_for() >= PATIENCE:
                self._drop(viewer)
        if self._viewers or self._clock.seconds() < self._expected_until:
            self._sample()

    async def _read_into(self, source: StateSource) -> None:
        began = self._clock.seconds()
        state = await self._read(source)
        if not isinstance(state, _Unread):
            del self._unread_since[source.name]
            if began >= self._resumed:
                self._paused.pop(source.name, None)
        self._known[source.name].take(state)

    async def _read(self, source: StateSource) -> object:
        """Return the present state of a data ``source``; if reading it fails, a dict with the only key ``error``."""
        try:
            return await source.read()
        except (BookKeeperError, OSError) as error:
            return _Unread(error=str(error))

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("a part of the console could not be read", failure)

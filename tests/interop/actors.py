"""Our client and Apache's behind one set of verbs, so that every scenario runs on either."""

from collections.abc import Sequence
from typing import Any, Protocol

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.reading.read_handle import LedgerReader
from bookkeeper_twisted.client.writing.write_handle import LedgerWriter
from bookkeeper_twisted.errors import (
    BookKeeperError,
    LedgerFencedError,
    NoSuchLedgerMetadataError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.ledger.placement import Candidates
from bookkeeper_twisted.model import DigestType, LedgerMetadata
from bookkeeper_twisted.placement.random_placement import RandomPlacement

from .entries import payload, verify
from .java_client import JavaClient, JavaError

FENCED, GONE, UNAUTHORIZED = "fenced", "gone", "unauthorized"
_READ_AT_ONCE = 100


class Refused(Exception):
    """A request failed for a reason that both clients know; the argument is one of the above."""


@attrs.frozen
class Dialect:
    """How a ledger is written and read.

    :ivar wire: version of the wire protocol.
    """

    wire: int
    digest: DigestType
    password: str = "secret"


@attrs.frozen
class Layout:
    """The bookies of a ledger and its quorums."""

    bookies: tuple[str, ...]
    ensemble: int
    write_quorum: int
    ack_quorum: int


@attrs.frozen
class Seen:
    """What a reader found.

    :ivar last: id of the last entry it could read, and did.
    :ivar calls: how many reads it took.
    """

    last: int
    length: int
    closed: bool
    calls: int = attrs.field(eq=False)


@attrs.frozen
class Stored:
    """The metadata of a ledger, in Java's words."""

    state: str
    ensemble: int
    write_quorum: int
    ack_quorum: int
    digest: str
    last: int
    length: int
    segments: int
    bookies: str
    format: int


class Actor(Protocol):
    """A client.  All of it fails with :class:`Refused` where that says it all."""

    async def create(self, dialect: Dialect, layout: Layout) -> int:
        """A new ledger, whose writer the actor keeps."""

    async def append(self, ledger_id: int, count: int) -> int:
        """Adds entries; returns the id of the last."""

    async def close(self, ledger_id: int) -> None:
        """Closes the writer."""

    async def forget(self, ledger_id: int) -> None:
        """The writer ends without a word."""

    async def read(self, dialect: Dialect, ledger_id: int, recover: bool = False, batch: int = 0) -> Seen:
        """Opens, reads and verifies all there is.

        :param batch: entries to ask for in each batch read; 0: no batch reads.
        """

    async def tail(self, dialect: Dialect, ledger_id: int) -> None:
        """Begins to follow a ledger."""

    async def tailed(self, ledger_id: int) -> int:
        """Waits until a ledger that is followed is at its end; returns the id of the last entry."""

    async def delete(self, ledger_id: int) -> None:
        """Removes a ledger."""

    async def metadata(self, ledger_id: int) -> Stored:
        """Reads the metadata."""


class NamedBookies(RandomPlacement):
    """Ledgers go to the bookies that their custom metadata name."""

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates, custom_metadata: Any = None
    ) -> Sequence[str]:
        """Some of those that are named."""
        named = custom_metadata["bookies"].decode().split(",")
        writable = [bookie for bookie in candidates.writable if bookie in named]
        return super().new_ensemble(size, write_quorum, Candidates(writable, candidates.excluded))


class OurActor:
    """Our client.

    :param client: places ledgers as :class:`NamedBookies`, and speaks the wire protocol of all dialects it is given.
    """

    _refusals = {
        LedgerFencedError: FENCED,
        NoSuchLedgerMetadataError: GONE,
        UnauthorizedAccessError: UNAUTHORIZED,
    }

    def __init__(self, client: BookKeeper) -> None:
        self._client = client
        self._writers: dict[int, LedgerWriter] = {}
        self._tails: dict[int, Deferred[int]] = {}

    async def create(self, dialect: Dialect, layout: Layout) -> int:
        writer = await self._client.create_ledger(
            layout.ensemble, layout.write_quorum, layout.ack_quorum, dialect.password.encode(), dialect.digest,
            {"bookies": ",".join(layout.bookies).encode()},
        )  # fmt: skip
        self._writers[writer.ledger_id] = writer
        return writer.ledger_id

    async def append(self, ledger_id: int, count: int) -> int:
        writer = self._writers[ledger_id]
        first = writer.last_add_pushed + 1
        payloads = [payload(entry_id) for entry_id in range(first, first + count)]
        _, last = await self._sorted(writer.append_many(payloads))
        return int(last)

    async def close(self, ledger_id: int) -> None:
        await self._writers.pop(ledger_id).close()

    async def forget(self, ledger_id: int) -> None:
        del self._writers[ledger_id]

    async def read(self, dialect: Dialect, ledger_id: int, recover: bool = False, batch: int = 0) -> Seen:
        reader = await self._open(dialect, ledger_id, recover)
        last, following, calls = reader.last_add_confirmed, 0, 0
        while following <= last:
            if batch:
                found: Any = await reader.read_batch(following, batch)
            else:
                found = await reader.read(following, min(last, following + _READ_AT_ONCE - 1))
            following = verify(found, following)
            calls += 1
        seen = Seen(last, reader.length, reader.is_closed, calls)
        await reader.close()
        return seen

    async def tail(self, dialect: Dialect, ledger_id: int) -> None:
        self._tails[ledger_id] = Deferred.fromCoroutine(self._follow(await self._open(dialect, ledger_id, False)))

    async def tailed(self, ledger_id: int) -> int:
        return await self._tails.pop(ledger_id)

    @staticmethod
    async def _follow(reader: LedgerReader) -> int:
        following = 0
        async for entry in reader.tail():
            following = verify([entry], following)
        await reader.close()
        return following - 1

    async def delete(self, ledger_id: int) -> None:
        await self._sorted(self._client.delete_ledger(ledger_id))

    async def metadata(self, ledger_id: int) -> Stored:
        return stored(await self._sorted(Deferred.fromCoroutine(self._metadata(ledger_id))))

    async def _metadata(self, ledger_id: int) -> LedgerMetadata:
        return await self._client.ledger_metadata(ledger_id)

    async def _open(self, dialect: Dialect, ledger_id: int, recover: bool) -> LedgerReader:
        opened = self._client.open_ledger(ledger_id, dialect.password.encode(), recover)
        reader: LedgerReader = await self._sorted(opened)
        return reader

    async def _sorted(self, result: "Deferred[Any]") -> Any:
        try:
            return await result
        except BookKeeperError as error:
            refusal = self._refusals.get(type(error))
            if refusal is None:
                raise
            raise Refused(refusal) from error


def stored(metadata: LedgerMetadata) -> Stored:
    """Our metadata in Java's words."""
    closed = metadata.closed
    return Stored(
        metadata.state.name, metadata.ensemble_size, metadata.write_quorum_size, metadata.ack_quorum_size,
        "MAC" if metadata.digest_type is DigestType.HMAC else metadata.digest_type.name,
        metadata.last_entry_id if closed else -1, metadata.length if closed else -1, len(metadata.segments),
        metadata.custom_metadata.get("bookies", b"").decode(), metadata.format_version,
    )  # fmt: skip


class JavaActor:
    """Apache's client.

    :param name: of the client; those of different names share no connection.
    :param wire: version of the wire protocol.
    """

    _refusals = {
        "BKLedgerFencedException": FENCED,
        "BKNoSuchLedgerExistsOnMetadataServerException": GONE,
        "BKUnauthorizedAccessException": UNAUTHORIZED,
    }

    def __init__(self, java: JavaClient, name: str, wire: int) -> None:
        self._java = java
        self._name = name
        self._wire = wire

    async def create(self, dialect: Dialect, layout: Layout) -> int:
        answer = await self._call(
            "create", dialect, bookies=",".join(layout.bookies), ensemble=layout.ensemble,
            writeQuorum=layout.write_quorum, ackQuorum=layout.ack_quorum,
        )  # fmt: skip
        return int(answer["ledger"])

    async def append(self, ledger_id: int, count: int) -> int:
        return int((await self._call("append", ledger=ledger_id, count=count))["last"])

    async def close(self, ledger_id: int) -> None:
        await self._call("close", ledger=ledger_id)

    async def forget(self, ledger_id: int) -> None:
        await self._call("forget", ledger=ledger_id)

    async def read(self, dialect: Dialect, ledger_id: int, recover: bool = False, batch: int = 0) -> Seen:
        return Seen(**await self._call("read", dialect, ledger=ledger_id, recover=recover, batch=batch))

    async def tail(self, dialect: Dialect, ledger_id: int) -> None:
        await self._call("tail", dialect, ledger=ledger_id, recover=False)

    async def tailed(self, ledger_id: int) -> int:
        return int((await self._call("tailed", ledger=ledger_id))["last"])

    async def delete(self, ledger_id: int) -> None:
        await self._call("delete", ledger=ledger_id)

    async def metadata(self, ledger_id: int) -> Stored:
        found = await self._call("metadata", ledger=ledger_id)
        return Stored(
            found["state"], found["ensemble"], found["writeQuorum"], found["ackQuorum"], found["digest"],
            found["last"], found["length"], found["segments"], found["bookies"], found["format"],
        )  # fmt: skip

    async def _call(self, verb: str, dialect: Dialect | None = None, **arguments: Any) -> dict[str, Any]:
        arguments.update(client=self._name, wire=self._wire)
        if dialect is not None:
            digest = "MAC" if dialect.digest is DigestType.HMAC else dialect.digest.name
            arguments.update(digest=digest, password=dialect.password)
        try:
            return await self._java.call(verb, **arguments)
        except JavaError as error:
            refusal = self._refusals.get(error.name)
            if refusal is None:
                raise
            raise Refused(refusal) from error

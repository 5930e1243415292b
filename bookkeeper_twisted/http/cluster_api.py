"""The HTTP pages about the cluster: its bookies, their disk space, and its ledgers."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import wraps
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..authorization.interfaces import Permission
from ..autorecovery.operations.admin import cluster_info
from ..client.admin import BookKeeperAdmin, DiskSpace, readable
from ..codec.metadata_formats import encode_ledger_metadata
from ..errors import MetadataError, NoSuchLedgerMetadataError
from ..metadata.undecoded import UndecodedLedgers
from ..model import DigestType, LedgerMetadata
from ..protocol.peer_lines import PeerLines
from .api import Answer, ApiRequest, json_answer
from .routes import Access, Parameter, Route, routed

LEDGERS_A_PAGE = 100
ENTRIES_A_PAGE = 1000
MAX_BYTES = 32 * 1024 * 1024
"""Number of bytes after which an answer contains no further entries.  Entries are read by the hundred, so an answer may
be larger.
"""

_AT_ONCE = 100
_NOT_FOUND = 404
_LEDGER_ID = Parameter("ledger_id", "the id of the ledger", "integer", required=True)

Connect = Callable[[], Awaitable[BookKeeperAdmin]]
"""A function that returns the shared client; its first call connects the client."""


class SharedClient:
    """The client that all pages of an HTTP server share.

    It is connected when a page first needs it, and closed with the server.  If it could not connect, the next request
    tries again.

    :param make: connects a client.
    """

    def __init__(self, make: Callable[[], "Deferred[BookKeeperAdmin]"]) -> None:
        self._make = make
        self._client: BookKeeperAdmin | None = None
        self._making: list[Deferred[BookKeeperAdmin]] | None = None

    def __call__(self) -> "Deferred[BookKeeperAdmin]":
        """Return the client; connect it if it is not connected."""
        if self._client is not None:
            return succeed(self._client)
        waiting: Deferred[BookKeeperAdmin] = Deferred()
        if self._making is not None:
            self._making.append(waiting)
            return waiting
        self._making = [waiting]
        self._make().addBoth(self._connected)
        return waiting

    def _connected(self, outcome: "BookKeeperAdmin | Failure") -> None:
        waiting, self._making = self._making or [], None
        if not isinstance(outcome, Failure):
            self._client = outcome
        for one in waiting:
            if not one.called:  # a Deferred that was cancelled, because its client has disconnected, has fired already
                one.callback(outcome)

    def close(self) -> "Deferred[None]":
        """Close the client if it is connected; the result fires when it is closed."""
        if self._client is None:
            return succeed(None)
        return self._client.close().addErrback(lambda failure: None)


_Method = Callable[[Any, ApiRequest], Coroutine[Deferred[Any], Any, Answer]]


def or_not_found(method: _Method) -> _Method:
    """Make a handler, the ``method``, answer with status 404 if the ledger of a request does not exist."""

    @wraps(method)
    async def answer(self: object, request: ApiRequest) -> Answer:
        try:
            return await method(self, request)
        except NoSuchLedgerMetadataError as error:
            return Answer(f"Not Found\n{error}", _NOT_FOUND)

    return answer


class ClusterApi:
    """Answers HTTP requests about the cluster.

    It logs each deletion of a ledger.  It also logs reads of entries, but at most one read a minute for each client
    host.

    :param connect: returns the client of the cluster.
    :param clock: the reactor, for the time of log lines.
    """

    _log = Logger()

    def __init__(self, connect: Connect, clock: IReactorTime) -> None:
        self._connect = connect
        self._reads = PeerLines(clock.seconds)

    # -- bookies --

    @routed(
        Route("GET", "/api/v1/bookie/list_bookies", "ids of the bookies that are registered",
              parameters=(Parameter("type", "``rw``: the writable ones, by default; ``ro``: those that are read-only"),
                          Parameter("print_hostnames", "whether to show their hosts", "boolean"))),
    )  # fmt: skip
    async def _list_bookies(self, request: ApiRequest) -> Answer:
        client = await self._connect()
        read_only = request.parameters.get("type") == "ro"
        found = await (client.read_only_bookies() if read_only else client.writable_bookies())
        names: dict[str, str | None] = dict.fromkeys(sorted(found))
        if request.flag("print_hostnames"):
            for bookie_id in names:
                names[bookie_id] = await _host(client, bookie_id)
        return json_answer(names)

    @routed(Route("GET", "/api/v1/bookie/list_bookie_info", "disk space of each bookie and of all"))
    async def _list_bookie_info(self, request: ApiRequest) -> Answer:
        client = await self._connect()
        spaces = {b: space for b, space in (await client.disk_space()).items() if isinstance(space, DiskSpace)}
        lines = {bookie_id: f": {_space(space)}," for bookie_id, space in spaces.items()}
        whole = DiskSpace(sum(s.total for s in spaces.values()), sum(s.free for s in spaces.values()))
        return json_answer({**lines, "ClusterInfo: ": _space(whole)})

    @routed(Route("GET", "/api/v1/bookie/cluster_info", "numbers of bookies, the auditor, whether ledgers are marked"))
    async def _cluster_info(self, request: ApiRequest) -> Answer:
        return json_answer(await cluster_info(await self._connect()))

    # -- ledgers --

    @routed(
        Route("GET", "/api/v1/ledger/list", "ids of all ledgers",
              parameters=(Parameter("print_metadata", "whether to show metadata, a hundred ledgers a page", "boolean"),
                          Parameter("page", "number of the page, from 1 on", "integer"),
                          Parameter("decode_meta", "whether to show metadata as JSON objects", "boolean")),
              refusals=(400,)),
    )  # fmt: skip
    async def _list_ledgers(self, request: ApiRequest) -> Answer:
        """Answer with the ids of all ledgers; with parameter ``print_metadata``, with one page of ids and metadata.

        Metadata that cannot be decoded are null; Apache's bookie answers such a page with status 500.
        """
        client = await self._connect()
        if not request.flag("print_metadata"):
            # This builds the same JSON as json_answer(), line by line while the ids arrive, because there may be
            # hundreds of thousands of ledgers.
            lines = [f'  "{ledger_id}" : null' async for ledger_id in client.client.list_ledgers()]
            body = "{\n" + ",\n".join(lines) + "\n}" if lines else "{ }"
            return attrs.evolve(json_answer({}), body=body)
        page, found, number = max(1, request.number("page", 1)), dict[str, object](), 0
        undecoded = UndecodedLedgers()
        async for ledger_id in client.client.list_ledgers():
            number += 1
            if (page - 1) * LEDGERS_A_PAGE < number <= page * LEDGERS_A_PAGE:
                metadata = await undecoded.read(client.client.metadata.ledgers, ledger_id)
                if metadata is not None:
                    found[str(ledger_id)] = (
                        _as_json(ledger_id, metadata) if request.flag("decode_meta") else _as_stored(metadata)
                    )
                elif ledger_id in undecoded.ids:
                    found[str(ledger_id)] = None
            elif found:
                break
        return json_answer(found)

    @routed(
        Route("GET", "/api/v1/ledger/metadata", "the metadata of a ledger, without its password",
              parameters=(_LEDGER_ID,), refusals=(400, 404)),
    )  # fmt: skip
    async def _ledger_metadata(self, request: ApiRequest) -> Answer:
        ledger_id = request.number("ledger_id", -1)
        if ledger_id < 0:
            return Answer("Not found method. Should be GET method, with ledger_id provided", _NOT_FOUND)
        metadata = await (await self._connect()).client.ledger_metadata(ledger_id)
        return json_answer({str(ledger_id): _as_json(ledger_id, metadata)})

    @routed(
        Route("GET", "/api/v1/ledger/read", "entries of a ledger as text, a thousand at most",
              parameters=(_LEDGER_ID,
                          Parameter("start_entry_id", "the first entry", "integer"),
                          Parameter("end_entry_id", "the last entry", "integer"),
                          Parameter("page", "number of a page of a thousand entries, from 1 on", "integer")),
              refusals=(400, 404), access=Access.ADMINISTRATOR, action=Permission.READ),
    )  # fmt: skip
    @or_not_found
    async def _read_ledger(self, request: ApiRequest) -> Answer:
        """Answer with at most one page of entries of a ledger, as ASCII text; replace bytes that are not ASCII."""
        ledger_id, first = request.number("ledger_id", -1), request.number("start_entry_id", 0)
        last, page = request.number("end_entry_id", -1), request.number("page", -1)
        if ledger_id < 0:
            return Answer("Not found method. Should be GET method, with ledger_id provided", _NOT_FOUND)
        found: dict[str, str] = {}
        if page > 0:
            first = max(first, (page - 1) * ENTRIES_A_PAGE)
            last = page * ENTRIES_A_PAGE - 1 if last < 0 else min(last, page * ENTRIES_A_PAGE - 1)
            found["Entries for page: "] = str(page)
        if first > last >= 0:
            text = f"parameter for start_entry_id: {first} and end_entry_id: {last} conflict with page={page}"
            return Answer(text, 500)
        async with await (await self._connect()).open_ledger(ledger_id) as reader:
            end = reader.last_add_confirmed if last < 0 else min(last, reader.last_add_confirmed)
            end, size = min(end, first + ENTRIES_A_PAGE - 1), 0
            self._reads.log(
                self._log.info, "entries {first} to {last} of ledger {ledger_id} are read over HTTP by {peer}",
                request.peer, first=first, last=end, ledger_id=ledger_id,
            )  # fmt: skip
            while first <= end and size < MAX_BYTES:
                for entry in await reader.read(first, min(end, first + _AT_ONCE - 1)):
                    found[str(entry.entry_id)] = bytes(entry.data).decode("ascii", "replace")
                    size += len(entry.data)
                first += _AT_ONCE
        return json_answer(found)

    @routed(
        Route("DELETE", "/api/v1/ledger/delete",
              "deletes a ledger", parameters=(_LEDGER_ID,),
              refusals=(400, 404), action=Permission.DELETE, is_logged=True),
    )  # fmt: skip
    @or_not_found
    async def _delete_ledger(self, request: ApiRequest) -> Answer:
        ledger_id = request.number("ledger_id", -1)
        if ledger_id < 0:
            return Answer("Not ledger found. Should provide ledger_id=<id>", _NOT_FOUND)
        await (await self._connect()).delete_ledger(ledger_id)
        self._log.info(
            "ledger {ledger_id} was deleted over HTTP by {peer}, for {who}",
            ledger_id=ledger_id, peer=request.peer, who=request.principal.name or "nobody known",
        )  # fmt: skip
        return json_answer(f"Deleted ledger: {ledger_id}")


async def _host(client: BookKeeperAdmin, bookie_id: str) -> str | None:
    try:
        endpoints = (await client.service_info(bookie_id)).endpoints
    except MetadataError:  # the bookie is not registered any more, so its host is unknown
        return None
    return next((endpoint.host for endpoint in endpoints if endpoint.protocol == "bookie-rpc"), None)


def _space(space: DiskSpace) -> str:
    return f"{{Free: {space.free}{readable(space.free)}, Total: {space.total}{readable(space.total)}}}"


def _as_stored(metadata: LedgerMetadata) -> str:
    """Return the metadata of a ledger as text in the format of the metadata store, without the password."""
    return encode_ledger_metadata(attrs.evolve(metadata, password=b"")).decode("utf-8", "replace")


def _as_json(ledger_id: int, metadata: LedgerMetadata) -> Mapping[str, object]:
    """Return the metadata of a ledger as a JSON object, with Apache's names of fields, without the password."""
    digest_type = "MAC" if metadata.digest_type is DigestType.HMAC else metadata.digest_type.name
    return {
        "ledgerId": ledger_id,
        "metadataFormatVersion": metadata.format_version,
        "ensembleSize": metadata.ensemble_size,
        "writeQuorumSize": metadata.write_quorum_size,
        "ackQuorumSize": metadata.ack_quorum_size,
        "state": metadata.state.name,
        "length": metadata.length,
        "lastEntryId": metadata.last_entry_id,
        "ctime": metadata.ctime if metadata.ctime is not None else -1,
        "digestType": digest_type,
        "password": "",
        "customMetadata": {key: b64encode(value).decode() for key, value in metadata.custom_metadata.items()},
        "closed": metadata.closed,
        "allEnsembles": {
            str(segment.first_entry_id): [{"id": bookie_id} for bookie_id in segment.bookies]
            for segment in metadata.segments
        },
        "ctoken": metadata.c_token,
    }

"""The command ``throttles``: prints or changes speed limits of a bookie or of autorecovery, over HTTP."""

import json
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ...errors import BookKeeperError
from ..bookie_servers import server_url
from ..shell_command import OK, Argument, Command, OperandError, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line

_PATH = "/api/v1/bookie/throttles"
_OPTIONS = {"entries": "entriesPerSecond", "bytes": "bytesPerSecond"}
_BOUNDS = {"latency": "adaptive", "replicationlatency": "replicationAdaptive"}


@attrs.frozen
class ShownLimit(ShellRow):
    """One row of the output: a latency bound or a rate limiter.

    A row for a latency bound has the fields ``latency_bound_ms``, ``factor`` and ``latency_p99_ms``; its other fields
    are None.  A row for a rate limiter has all other fields, and None in these three.

    :ivar factor: the speed limits of background work are multiplied by this number, from 0 to 1, at present; it is
        below 1 if latencies have exceeded the bound.
    :ivar latency_p99_ms: the 99 % quantile of the latencies; None if it was not measured yet.
    """

    name: str
    latency_bound_ms: float | None = None
    factor: float | None = None
    latency_p99_ms: float | None = None
    entries_per_second: float | None = None
    bytes_per_second: float | None = None
    entries_per_second_in_force: float | None = None
    bytes_per_second_in_force: float | None = None
    granted_entries: int | None = None
    granted_bytes: int | None = None
    waited_seconds: float | None = None
    waiters: int | None = None

    def text(self, formats: Formats) -> Iterable[str]:
        fields = {name: value for name, value in self.json_object().items() if value is not None and name != "name"}
        if self.latency_bound_ms is not None:
            fields.setdefault("latencyP99Ms", "unknown")
        yield line(self.name, **fields)


async def throttles(shell: ShellContext, options: Namespace) -> int:
    """Change the speed limits and latency bounds that the options name, then print all of them."""
    if options.http and options.bookie:
        raise OperandError("-b and -http exclude each other: either names the process")
    root = _root(options.http) if options.http else await _http_server(shell, options.bookie or shell.local_bookie())
    body = _change(options)
    method, data = ("PUT", json.dumps(body).encode()) if body else ("GET", b"")
    status, answer = await shell.world.http(method, f"{root}{_PATH}", data, shell.client_config)
    text, address = answer.decode("utf-8", "replace"), root.partition("://")[2]
    if status != 200:
        raise OperandError(_reason(text) or f"{address} answered with status {status}")
    try:
        found = json.loads(text)
        rows = [ShownLimit.of({**found[key], "name": key}) for key in _BOUNDS.values() if key in found]
        rows += [ShownLimit.of({**limiter, "name": name}) for name, limiter in found["limiters"].items()]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OperandError(f"{address} does not answer as a bookie does") from None
    for row in rows:
        shell.show(row)
    return OK


def _root(address: str) -> str:
    return address.rstrip("/") if address.startswith("https://") else f"http://{address}"


def _reason(text: str) -> str:
    """Return the reason for which the HTTP server has refused a request.

    :param text: body of the answer: a JSON object with a member ``reason``, or the plain text of the reason.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return text.strip()
    return str(found["reason"]) if isinstance(found, dict) and "reason" in found else text.strip()


def _change(options: Namespace) -> Mapping[str, Any]:
    """Return the JSON body of the request that changes the limits; empty if the options ask for no change.

    :raises OperandError: the options contain rates but no limiter, or a limiter but no rate.
    """
    numbers = {key: getattr(options, name) for name, key in _OPTIONS.items() if getattr(options, name) is not None}
    if bool(numbers) is not (options.limiter is not None):
        raise OperandError("a limiter and -entries or -bytes go together; without any of them the limits are printed")
    body: dict[str, Any] = {}
    if numbers:
        body["limiters"] = {options.limiter: numbers}
    bounds = {key: getattr(options, name) for name, key in _BOUNDS.items()}
    return body | {key: {"latencyBoundMs": bound} for key, bound in bounds.items() if bound is not None}


async def _http_server(shell: ShellContext, bookie_id: str) -> str:
    """Return ``scheme://host:port`` of the HTTP server of a bookie, from the bookie's registration.

    :raises OperandError: the bookie is not registered, has no HTTP server, or its server accepts only local clients.
    """
    async with await shell.admin() as admin:
        try:
            info = await admin.service_info(bookie_id)
        except BookKeeperError as error:
            raise OperandError(f"bookie {bookie_id} is not there: {error}") from None
    return server_url(bookie_id, info, shell.local_bookie)


COMMANDS = (
    Command(
        "throttles", "Print the speed limits of a bookie or of autorecovery, or change one until its process ends",
        throttles,
        (
            Argument(("limiter",), "name of the limiter to be changed"),
            Argument(("-b", "bookie"), "id of the bookie (default: the local one)"),
            Argument(("-a", "http"), "instead: [https://]HOST:PORT of a server, as autorecovery alone has"),
            Argument(("-e", "entries"), "entries a second, 0: no limit", float),
            Argument(("-s", "bytes"), "bytes a second, 0: no limit", float),
            Argument(("-l", "latency"), "milliseconds (p99) above which background work yields, 0: never", float),
            Argument(("-rl", "replicationlatency"), "the same for copies of autorecovery", float),
        ),
        ShownLimit,
    ),
)  # fmt: skip

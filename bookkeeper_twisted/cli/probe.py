"""The commands ``probe`` and ``drain``: they send a request to the HTTP server of the bookie in the same container.

An orchestrator such as Kubernetes runs them often.  So this module imports only the standard library, and a command
takes 50 ms.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from .ending import show

_USAGE = """\
Usage: bookkeeper-twisted probe ready | alive [HOST:PORT]
       bookkeeper-twisted drain [HOST:PORT]

Asks the HTTP server of a bookie, or of autorecovery, on this machine; prints its answer.

  probe ready   status 0 if it serves; else 1, and what it does instead
  probe alive   status 0 if it answers at all
  drain         makes the bookie read-only until its process ends; status 0 if it is

HOST:PORT is that of BK_httpServerHost and BK_httpServerPort, else 127.0.0.1:8080.
"""

_TIMEOUT = 5.0
_DIGITS, _HIGHEST_PORT = 5, 65535
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}

FAILED, MISUSED = 1, 2


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run ``probe`` or ``drain``, and print the answer of the HTTP server.

    :param arguments: the arguments of the command line, from ``probe`` or ``drain`` on.
    :param environ: environment variables, which may name the HTTP server.
    :returns: the exit status of the process.
    """
    length = 2 if arguments[0] == "probe" else 1
    command, rest = " ".join(arguments[:length]), arguments[length:]
    is_help = arguments[-1] in ("--help", "-h")
    if is_help or command not in ("probe ready", "probe alive", "drain") or len(rest) > 1:
        show(_USAGE.rstrip())
        return 0 if is_help else MISUSED
    host, _, port = (rest[0] if rest else _address(environ)).rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= _DIGITS and 0 < int(port) <= _HIGHEST_PORT):
        show(f"{rest[0] if rest else port}: HOST:PORT is expected")
        return MISUSED
    try:
        status, text = _ask(command, _ANY.get(host.strip("[]"), host), int(port))
    except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: the text is no valid host name
        show(f"no answer from port {port}: {error}")
        return FAILED
    show(text.strip())
    return 0 if status == 200 or command == "probe alive" else FAILED


def _address(environ: Mapping[str, str]) -> str:
    return f"{environ.get('BK_httpServerHost', '')}:{environ.get('BK_httpServerPort', '8080')}"


def _ask(command: str, host: str, port: int) -> tuple[int, str]:
    with closing(HTTPConnection(host, port, timeout=_TIMEOUT)) as connection:
        if command == "drain":
            connection.request("PUT", "/api/v1/bookie/state/readonly", '{"readOnly": true}')
        else:
            connection.request("GET", "/heartbeat")
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

"""The static files of the page at ``/console``: HTML, style sheet and scripts.

Anyone may read them, because they contain no data of a bookie.  The scripts request the data with the credentials of
the user.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import ClassVar

from twisted.web.pages import errorPage
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request

from ..api import Answer, begin_answer
from ..routes import Access, Route

_FOLDER = "page"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

FILES = (
    "index.html", "console.css", "icon.svg", "main.js", "connection.js", "format.js", "elements.js", "table.js",
    "page_overview.js", "page_bookie.js", "page_work.js", "page_ledgers.js", "page_repair.js", "page_events.js",
)  # fmt: skip
"""Names of the files; the first is the HTML file."""

_HEADERS = {
    "Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY", "Cache-Control": "no-cache",
}  # fmt: skip

_VERSION_MARK = b"VERSION_OF_THE_PAGE"
"""A text in the HTML file in whose place the server puts :func:`page_version`."""


@cache
def page_version() -> str:
    """Return the version of the files that this process serves.

    The server sends it both in the HTML file and in the event stream.  So a page that stays open while the server is
    upgraded recognizes that it is not the page of this server any more.
    """
    return version_of(map(_content, FILES))


def version_of(contents: Iterable[bytes]) -> str:
    """Return a text that differs if any of the ``contents`` of the files differs."""
    return sha256(b"".join(contents)).hexdigest()[:16]


def _content(name: str) -> bytes:
    return files(__package__).joinpath(_FOLDER, name).read_bytes()


def _route(name: str) -> Route:
    path = "/console" if name == FILES[0] else f"/console/{name}"
    about = "the page of the console" if name == FILES[0] else f"a file of the page: {name}"
    return Route("GET", path, about, content=_TYPES[name.rpartition(".")[2]], access=Access.ANYONE)


class ConsoleFiles(Resource):
    """A resource of the HTTP server that answers with one static file."""

    isLeaf = True
    all_routes: ClassVar[tuple[Route, ...]] = tuple(_route(name) for name in FILES)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.routes = (_route(name),)
        self._answer = Answer(
            _content(name).replace(_VERSION_MARK, page_version().encode()), 200,
            f"{self.routes[0].content}; charset=utf-8", _HEADERS,
        )  # fmt: skip

    @classmethod
    def pages(cls) -> dict[str, IResource]:
        """Return the resources of all files by their paths; the paths have no slash at the beginning."""
        return {_route(name).path.strip("/"): cls(name) for name in FILES}

    def render(self, request: Request) -> object:
        """Answer a GET or HEAD ``request`` with the file; refuse other methods (405)."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            return errorPage(405, "Method Not Allowed", "This page can only be read.").render(request)
        return begin_answer(request, self._answer)

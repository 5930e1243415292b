"""Runs bookies until a ``with`` block ends: for examples, notebooks and experiments."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..config.bookie import BookieConfig
from .production import make_bookie
from .standalone import standalone_configs

if TYPE_CHECKING:
    from ..blocking import ReactorThread


@cache
def _thread() -> "ReactorThread":
    # Imported here, because it imports the modules of a client: ``twistd bookie``, which also imports this package,
    # starts without them.
    from ..blocking import ReactorThread

    return ReactorThread()


@contextmanager
def temporary_cluster(bookies: int = 1) -> Iterator[str]:
    """Run bookies in this process until the ``with`` block ends; the context value is their metadata service URI.

    The bookies run on a separate thread and listen on free ports of the loopback address.  Their files are in a
    temporary folder, which is deleted at the end.  Every kind of client (Twisted, asyncio or blocking) can connect to
    the URI.

    :param bookies: number of bookies, at least 1, which is also the largest possible ensemble.
    :raises IncorrectParameterError: ``bookies`` is not a number of bookies.
    """
    plain = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
    thread = _thread()
    with TemporaryDirectory(prefix="bookies-") as directory, ExitStack() as started:
        configs = standalone_configs(plain, bookies, directory)
        for config in configs:
            bookie = make_bookie(thread.reactor, config)
            thread.wait(bookie.start)
            started.callback(thread.wait, bookie.stop)
        yield configs[0].metadata_service_uri

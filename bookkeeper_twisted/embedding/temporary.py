"""Bookies that last as long as a block of code: for examples, notebooks and first tries."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory

from ..blocking import ReactorThread
from ..config.bookie import BookieConfig
from .production import make_bookie
from .standalone import standalone_configs

_thread = ReactorThread()


@contextmanager
def temporary_cluster(bookies: int = 1) -> Iterator[str]:
    """Run real bookies in this process for the length of a context, which yields their metadata service URI.

    They listen on the loopback address, on free ports, in a thread of their own, and keep their files in a temporary
    folder that is deleted at the end.  Any door of the client connects to the URI.

    :param bookies: how many; a ledger's ensemble may be as large.
    """
    plain = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
    with TemporaryDirectory(prefix="bookies-") as directory, ExitStack() as started:
        configs = standalone_configs(plain, bookies, directory)
        for config in configs:
            bookie = make_bookie(_thread.reactor, config)
            _thread.wait(bookie.start)
            started.callback(_thread.wait, bookie.stop)
        yield configs[0].metadata_service_uri

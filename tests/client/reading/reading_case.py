"""What the tests of readers share."""

from random import Random
from typing import Any

import attrs

from bookkeeper_twisted.client.context import ClientContext
from bookkeeper_twisted.config.client import ClientConfig


@attrs.define
class Known:
    """The bookies there are, told by hand."""

    writable: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()


def make_context(clock: Any, bookies: Any, ledgers: Any = None, known: Any = None, **config: Any) -> ClientContext:
    """A context of parts in memory."""
    watcher: Any = known or Known()
    return ClientContext(clock, bookies, ledgers, watcher, Random(1), ClientConfig(**config))

"""The command line of an example: what it does not name is made for the run, and a mistake in it is a usage line."""

import argparse
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from bookkeeper_twisted.errors import BookKeeperError

_MEANINGS = {
    "uri": "metadata service URI of a cluster, as sqlite:///FOLDER/metadata.db or zk+hierarchical://HOST:2181/ledgers; "
    "left out: bookies of this run alone",
    "ledger": "id of the ledger to recover; left out, or -1: one that this run makes",
    "directory": "where the bookie keeps its files; left out: a temporary one",
}


def run(
    main: Callable[..., Coroutine[Any, Any, None]],
    stand_in: Callable[[], AbstractContextManager[str]],
    start: Callable[..., None] = lambda main, *given: _react(main, *given),
) -> None:
    """Run ``main(reactor, first, ...)`` with the arguments of the command line.

    :param stand_in: makes a context that gives the first argument if the command line has none.
    :param start: calls main; the default is Twisted's ``react``.
    """
    names = [p for p in inspect.signature(main).parameters.values() if p.name != "reactor"]
    parser = argparse.ArgumentParser(description=inspect.getdoc(inspect.getmodule(main)))
    for index, parameter in enumerate(names):
        default = None if index == 0 else parameter.default
        meaning = _MEANINGS.get(parameter.name, f"default: {default}")
        parser.add_argument(parameter.name, nargs="?", default=default, type=parameter.annotation, help=meaning)
    first, *others = vars(parser.parse_args()).values()
    try:
        if first is not None:
            start(main, first, *others)
        else:
            with stand_in() as first:
                print(f"no {names[0].name.upper()} is given, so this run makes its own: {first}", flush=True)
                start(main, first, *others)
    except (BookKeeperError, OSError) as error:
        parser.error(str(error))


def _react(main: Callable[..., Coroutine[Any, Any, None]], *given: object) -> None:
    """Run as ``react`` does, but raise the errors that a wrong argument causes, where react prints a traceback."""
    errors: list[Exception] = []

    async def work(reactor: object) -> None:
        try:
            await main(reactor, *given)
        except (BookKeeperError, OSError) as error:
            errors.append(error)

    try:
        react(lambda reactor: Deferred.fromCoroutine(work(reactor)))
    except SystemExit as end:
        if not errors and end.code:
            raise
    if errors:
        raise errors[0]

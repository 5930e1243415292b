"""Errors of this package as one sentence each, without the traceback of a Spark worker.

Spark puts the traceback of its Python worker into the message of the exception that a user sees, unless an
environment variable of that worker says otherwise when the error is reported. This is the door to that variable.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BookKeeperError

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Report errors of this package by their text alone; other errors keep their traceback."""
    try:
        yield
    except BookKeeperError as error:
        os.environ[_HIDE_TRACEBACK] = "1"
        error.__cause__ = error.__context__ = None
        raise

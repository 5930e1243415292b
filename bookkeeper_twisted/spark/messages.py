"""Removes the traceback of Spark's Python worker from errors of this package, so that users see one sentence.

Spark puts this traceback into the message of the exception, unless an environment variable of the worker forbids it at
the moment when the error is reported.  Only this module sets that variable.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import BookKeeperError

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Hide the traceback of errors of this package that the ``with`` block raises; other errors keep theirs."""
    try:
        yield
    except BookKeeperError as error:
        os.environ[_HIDE_TRACEBACK] = "1"
        error.__cause__ = error.__context__ = None
        raise

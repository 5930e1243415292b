"""Errors of this package in Spark: users see one sentence, without the traceback of Spark's Python worker.

Spark adds the traceback to the message of an exception.  An environment variable of the worker forbids this, if it is
set when the error is reported.  Only this module sets that variable.
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

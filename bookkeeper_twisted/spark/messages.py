"""Errors of this package in Spark: users see one sentence, without the traceback of Spark's Python worker.

Spark adds the traceback to the message of an exception, unless the environment variable ``SPARK_HIDE_TRACEBACK`` is set
in the worker.  This module sets it only when the exception is an error of this package.
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

"""Errors for people."""

import os

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.spark.messages import plain_errors


class PlainErrorTests(SynchronousTestCase):
    """Whether Spark puts a traceback around an error."""

    def setUp(self) -> None:
        before = os.environ.pop("SPARK_HIDE_TRACEBACK", None)
        self.addCleanup(lambda: os.environ.__setitem__("SPARK_HIDE_TRACEBACK", before) if before else None)
        self.addCleanup(os.environ.pop, "SPARK_HIDE_TRACEBACK", None)

    def test_ours(self) -> None:
        """An error of ours says all by its text: the worker leaves the traceback out, and what caused it."""
        with self.assertRaises(ConfigError) as caught, plain_errors():
            try:
                raise ValueError
            except ValueError:
                raise ConfigError("x")  # noqa: B904
        self.assertEqual(os.environ["SPARK_HIDE_TRACEBACK"], "1")
        self.assertIsNone(caught.exception.__context__)

    def test_others(self) -> None:
        """Any other error keeps its traceback."""
        with self.assertRaises(ZeroDivisionError), plain_errors():
            1 / 0  # noqa: B018
        self.assertNotIn("SPARK_HIDE_TRACEBACK", os.environ)

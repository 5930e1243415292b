"""Log events as JSON, one object a line."""

import json
from typing import Any

from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import MetadataUnavailableError
from bookkeeper_twisted.logs.json_lines import json_line


class _Odd:
    """An object of a field."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __str__(self) -> str:
        if self._text is None:
            raise ValueError("no text")
        return self._text


class JsonLinesTests(SynchronousTestCase):
    """What a program that collects logs gets."""

    def _lines(self, template: str = "", **fields: Any) -> list[str | None]:
        found: list[str | None] = []
        Logger("ours.room", observer=lambda event: found.append(json_line(event))).emit(  # type: ignore[arg-type]
            LogLevel.warn, template, **fields
        )
        return found

    def _line(self, template: str = "", **fields: Any) -> Any:
        (line,) = self._lines(template, **fields)
        assert line is not None
        self.assertEqual((line.count("\n"), line[-1]), (1, "\n"))
        return json.loads(line)

    def test_line(self) -> None:
        """Time in UTC, level, module, message and the fields of an event are one line."""
        found = self._line("{n} entries of {peer}", n=3, peer="10.0.0.7:5", share=0.5)
        self.assertRegex(found.pop("time"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(
            found,
            {
                "level": "warn", "module": "ours.room", "message": "3 entries of 10.0.0.7:5",
                "fields": {"n": 3, "peer": "10.0.0.7:5", "share": 0.5},
            },
        )  # fmt: skip

    def test_time_is_that_of_the_event(self) -> None:
        """Twisted's time of an event, not that at which the line is written, is in the line."""
        line = json_line({"log_time": 0.5, "log_format": "x", "log_namespace": "a", "log_level": LogLevel.debug})
        found = json.loads(str(line))
        self.assertEqual(
            (found["time"], found["level"], "fields" in found), ("1970-01-01T00:00:00.500Z", "debug", False)
        )

    def test_values(self) -> None:
        """Lists and mappings of plain values stay what they are; what JSON does not have becomes text."""
        found = self._line(
            "x", none=None, yes=True, names=("a", [1]), of={1: {"b": 2}}, raw=b"\xff", odd=_Odd("seven"),
            silent=_Odd(None), huge=float("inf"), deep=[[[[["x"]]]]],
        )["fields"]  # fmt: skip
        self.assertEqual(
            found,
            {
                "none": None, "yes": True, "names": ["a", [1]], "of": {"1": {"b": 2}}, "raw": "b'\\xff'",
                "odd": "seven", "silent": "<_Odd without a text: ValueError>", "huge": "inf",
                "deep": [[[["['x']"]]]],
            },
        )  # fmt: skip

    def test_attributes(self) -> None:
        """Attributes that a message names are fields of their own, in the place of their object."""
        last = _Odd("all of it")
        last.entries, last.token = 7, "hunter2"  # type: ignore[attr-defined]
        found = self._line("{last.entries} of {n}, {last.token!r}", last=last, n=9)["fields"]
        self.assertEqual(found, {"n": 9, "last.entries": 7, "last.token": "******"})
        self.assertEqual(self._line("{last.more}", last=last)["fields"], {"last": "all of it"})
        self.assertEqual(self._line("{", last=last)["fields"], {"last": "all of it"})

    def test_one_line(self) -> None:
        """A message of several lines, and one with other letters, is one line of ASCII."""
        (line,) = self._lines("a\nb\u2028{text}", text="\u00fc\r\n")
        assert line is not None
        self.assertTrue(line.isascii() and line.count("\n") == 1 and "\r" not in line)
        self.assertEqual(json.loads(line)["message"], "a\nb\u2028\u00fc\r\n")

    def test_secrets(self) -> None:
        """Credentials in a URI, and values of fields and members with the name of a secret, are masked."""
        (line,) = self._lines(
            "no store at {uri}: {error}", uri="zk://me:hunter2@zk1/l", password="hunter2", master_key=b"hunter2",
            error=MetadataUnavailableError("zk://me:hunter2@zk1"), of={"clientToken": "hunter2", "port": 3181},
        )  # fmt: skip
        assert line is not None
        self.assertNotIn("hunter2", line)
        found = json.loads(line)["fields"]
        self.assertEqual((found["password"], found["of"]), ("******", {"clientToken": "******", "port": 3181}))

    def test_exceptions(self) -> None:
        """An exception is its type, its text and its traceback, as the failure of an event and as a field."""
        try:
            raise OSError("disk //me:hunter2@x is gone")
        except OSError as error:
            failure, raised = Failure(), error
        found = self._line("the flush failed", log_failure=failure, error=raised, calm=ValueError("no"), failed=failure)
        for one in (found["exception"], found["fields"]["error"], found["fields"]["failed"]):
            self.assertEqual((one["type"], one["text"]), ("OSError", "disk //******@x is gone"))
            self.assertIn("test_exceptions", one["traceback"])
            self.assertNotIn("hunter2", one["traceback"])
        self.assertEqual(found["fields"]["calm"], {"type": "ValueError", "text": "no"})

    def test_nothing_to_say(self) -> None:
        """An event without a message and without an exception makes no line, as it does in text."""
        self.assertEqual(self._lines(), [None])
        self.assertEqual(self._line("", log_failure=Failure(ValueError("x")))["exception"]["type"], "ValueError")

    def test_older_log(self) -> None:
        """What Twisted's older log adds to an event is not repeated; a field of ours may have such a name."""
        older = {"log_format": "{log_text}", "log_text": "hello", "isError": 0, "system": "-", "message": ("hello",)}
        found = json.loads(str(json_line(older)))
        self.assertEqual(
            found, {"time": None, "level": "info", "module": "-", "message": "hello"}
        )
        self.assertEqual(self._line("{time}", time=3)["fields"], {"time": 3})

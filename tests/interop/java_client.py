"""A Java program in a process of its own, which takes one request a line: BookKeeper's client
(``tests/java/Interop.java``), or another."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from benchmarks.shared.java import BOOKKEEPER, Jars, classes, java_command

_OPTIONS = ("-Xmx256m", "-XX:MaxDirectMemorySize=256m")
_READ_PROPERTIES = "-Dorg.apache.bookkeeper.conf.readsystemproperties=true"
"""Has configurations of Java take values from properties of the JVM."""


class JavaError(Exception):
    """The Java client answered with an exception.

    :ivar name: of its class.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class JavaClient:
    """One process, which lives until :meth:`stop`.

    :param values: more of the configuration of its clients.
    :raises SkipTest: Java or the jars are missing.
    """

    def __init__(
        self, uri: str, log: Path, main: str = "Interop", kit: Jars = BOOKKEEPER,
        values: Mapping[str, object] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._log = log
        options = (*_OPTIONS, _READ_PROPERTIES, *(f"-D{key}={value}" for key, value in values.items()))
        with open(log, "ab") as errors:
            self._process = subprocess.Popen(
                java_command(main, uri, options=options, classes=classes(kit), kit=kit),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()

    def call(self, verb: str, **arguments: Any) -> "Deferred[dict[str, Any]]":
        """One request, without blocking the reactor; the next may follow when it is answered.

        :raises JavaError: the answer.
        """
        return deferToThread(self.call_now, verb, **arguments)

    def call_now(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """The same, blocking."""
        to, answers = self._process.stdin, self._process.stdout
        assert to is not None and answers is not None
        to.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
        to.flush()
        line = answers.readline()
        if not line:
            raise AssertionError(f"the Java client has ended: {self._log.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise JavaError(answer["error"], answer["message"])
        return answer

"""System calls of the real file adapter, recorded and made to fail or to do less than asked."""

import os
from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

Script = Callable[..., Any]


class SystemCalls:
    """Stands between the adapter and the kernel for one test.

    :ivar made: the calls so far: name, file, and what else matters (bytes written, offset, flags).
    :ivar before: by name of a call, what is called with its arguments first; what it raises is the outcome of the
        call, what it returns, unless nothing, takes the place of its arguments.
    """

    def __init__(self, case: SynchronousTestCase) -> None:
        self.made: list[tuple[object, ...]] = []
        self.before: dict[str, Script] = {}
        self._names: dict[int, str] = {}
        for name in ("open", "close", "fsync", "fdatasync", "pwrite", "pwritev", "pread", "preadv"):
            case.patch(os, name, self._recorded(name, getattr(os, name)))

    def named(self, *names: str) -> list[tuple[object, ...]]:
        """The calls of these names."""
        return [call for call in self.made if call[0] in names]

    def _recorded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if name in self.before:
                arguments = self.before[name](*arguments) or arguments
            if name == "open":
                fd = real(*arguments, **named)
                self._names[fd] = str(arguments[0])
                return fd
            fd, *rest = arguments
            if name == "close":
                self.made.append((name, self._names.pop(fd, fd)))
                return real(*arguments)
            result = real(*arguments, **named)
            detail = [result, *rest[1:]] if rest else []
            self.made.append((name, self._names.get(fd, fd), *detail))
            return result

        return call

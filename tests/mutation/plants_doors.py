"""Plants in the doors of the client, in the checks of its arguments and in what its objects show."""

from .plant import Plant

_CONTRACT = ["tests.doors.test_doors"]
_PARITY = ["tests.doors.test_parity"]
_TYPES = ["tests.doors.test_types"]
_SHOWN = ["tests.test_representations"]

PLANTS = (
    Plant(
        "anything passes for the bytes of an entry", "arguments.py",
        '    raise refusal(name, given, "bytes, bytearray or memoryview")\n', "    return b\"\"\n", _CONTRACT,
    ),
    Plant(
        "an error does not name its parameter", "arguments.py",
        'f"{name}: {_shown(given)} was given', 'f"{_shown(given)} was given', _CONTRACT,
    ),
    Plant(
        "the error of an argument shows a text that may be secret", "arguments.py",
        "isinstance(given, Real) else type(given).__name__", "isinstance(given, Real | str) else type(given).__name__",
        ["tests.test_arguments"],
    ),
    Plant(
        "a time without end passes for seconds", "arguments.py",
        "and 0 <= given <= LONGEST)", 'and 0 <= given <= float("inf"))', ["tests.test_arguments", *_CONTRACT],
    ),
    Plant(
        "the type of a configuration's value is not checked", "config/settings.py",
        "field.kind.verify(getattr(self, name))", "field.kind.check(getattr(self, name))", ["tests.config.test_client"],
    ),
    Plant(
        "a claim of no byte is taken", "client/claims/thread_appender.py",
        'check_integer("size", size, 1, self._largest)', 'check_integer("size", size, 0, self._largest)', _CONTRACT,
    ),
    Plant(
        "an abort without a claim is silent", "client/claims/producer.py",
        "        if self.start == IDLE:\n            raise IllegalOperationError(_NO_CLAIM)\n        self._let_go()\n",
        "        self._let_go()\n", _CONTRACT,
    ),
    Plant(
        "a closed reader asks bookies", "client/reading/read_handle.py",
        "        self._view.check()\n        return await question()\n", "        return await question()\n", _CONTRACT,
    ),
    Plant(
        "a closed client refuses a list at its first step only", "client/bookkeeper.py",
        "        self._check_open()\n        return self._listed()\n", "        return self._listed()\n", _CONTRACT,
    ),
    Plant(
        "a writer does not show why it ended", "client/writing/base_writer.py",
        'LAC {self.last_add_confirmed}{why}>"', 'LAC {self.last_add_confirmed}>"', _CONTRACT,
    ),
    Plant(
        "an iteration takes any timeout until its first step", "blocking/handle.py",
        "        check_timeout(timeout)\n        return self._taken(", "        return self._taken(", _CONTRACT,
    ),
    Plant(
        "a service shows credentials", "client/service.py",
        'without_credentials(check_type("uri", uri, str, "str"))', 'check_type("uri", uri, str, "str")', _SHOWN,
    ),
    Plant(
        "a door has another default", "aio/bookkeeper.py",
        'password: bytes | None = b"", recover: bool = True', 'password: bytes | None = b"", recover: bool = False',
        _PARITY,
    ),
    Plant(
        "a door has another docstring", "blocking/writers.py",
        '        """Append one entry.\n', '        """Append an entry.\n', _PARITY,
    ),
    Plant(
        "a door gives any type", "blocking/reader.py",
        "timeout: float | None = None) -> Entry:", "timeout: float | None = None) -> object:", _TYPES,
    ),
    Plant(
        "what is asked behind the end of a loop's reactor waits for ever", "aio/reactor.py",
        "        if not self._has_ended:\n            return cast", "        if True:\n            return cast", ["tests.test_aio"],
    ),
    Plant(
        "the log of others is forwarded, too", "python_logging.py",
        "else PredicateResult.no", "else PredicateResult.maybe", ["tests.test_python_logging"],
    ),
    Plant(
        "a client of plain calls logs to nobody", "blocking/reactor_thread.py",
        "                forward_to_logging()\n", "", ["tests.test_python_logging"],
    ),
)  # fmt: skip

"""Plants in the doors of the client, in the checks of its arguments and in what its objects show."""

from .plant import Plant, TextPlant

_CONTRACT = ["tests.doors.test_doors"]
_PARITY = ["tests.doors.test_parity"]
_TYPES = ["tests.doors.test_types"]
_SHOWN = ["tests.test_representations"]

PLANTS = (
    Plant(
        "anything passes for the bytes of an entry", "arguments.py",
        'raise refusal(name, given, "bytes, bytearray or memoryview")', 'return b""', _CONTRACT, where="as_bytes",
    ),
    Plant(
        "a truth value passes for an integer", "arguments.py",
        "not isinstance(given, bool) and low <= operator.index(given) <= high", "low <= operator.index(given) <= high",
        ["tests.test_arguments", *_CONTRACT], where="check_integer",
    ),
    Plant(
        "an error does not name its parameter", "arguments.py",
        'f"{name}: {_shown(given)} was given, {wanted} is wanted"',
        'f"{_shown(given)} was given, {wanted} is wanted"', _CONTRACT, where="refusal",
    ),
    Plant(
        "the error of an argument shows a text that may be secret", "arguments.py",
        "isinstance(given, Real)", "isinstance(given, Real | str)", ["tests.test_arguments"], where="_shown",
    ),
    Plant(
        "a time without end passes for seconds", "arguments.py",
        "0 <= given <= LONGEST", '0 <= given <= float("inf")', ["tests.test_arguments", *_CONTRACT],
        where="check_seconds",
    ),
    Plant(
        "the type of a configuration's value is not checked", "config/settings.py",
        "field.kind.verify(getattr(self, name))", "field.kind.check(getattr(self, name))",
        ["tests.config.test_client"], where="Config.__attrs_post_init__",
    ),
    Plant(
        "a claim of no byte is taken", "client/claims/thread_appender.py",
        'check_integer("size", size, 1, self._largest)', 'check_integer("size", size, 0, self._largest)', _CONTRACT,
        where="ThreadAppender.claim",
    ),
    Plant(
        "an abort without a claim is silent", "client/claims/producer.py",
        "if self.start == IDLE:\n    raise self._misused(_NO_CLAIM)", "", _CONTRACT, where="Producer.abort",
    ),
    Plant(
        "a closed reader asks bookies", "client/reading/read_handle.py",
        "self._view.check()", "", _CONTRACT, where="LedgerReader._ask",
    ),
    Plant(
        "a closed client refuses a list at its first step only", "client/bookkeeper.py",
        "self._check_open()", "", _CONTRACT, where="BookKeeper.list_ledgers",
    ),
    Plant(
        "a writer does not show why it ended", "client/writing/base_writer.py",
        'f"<{type(self).__name__} ledger {self.ledger_id} {state}, LAC {self.last_add_confirmed}{why}>"',
        'f"<{type(self).__name__} ledger {self.ledger_id} {state}, LAC {self.last_add_confirmed}>"', _CONTRACT,
        where="BaseWriter.__repr__",
    ),
    Plant(
        "an iteration takes any timeout until its first step", "blocking/handle.py",
        "check_timeout(timeout)", "", _CONTRACT, where="Handle._iterate",
    ),
    Plant(
        "a service shows credentials", "client/service.py",
        'without_credentials(check_type("uri", uri, str, "str"))', 'check_type("uri", uri, str, "str")', _SHOWN,
        where="BookKeeperService.__init__",
    ),
    Plant("a door has another default", "aio/bookkeeper.py", "True", "False", _PARITY, where="BookKeeper.open_ledger"),
    TextPlant(
        "a door has another docstring", "blocking/writers.py",
        '        """Append one entry.\n', '        """Append an entry.\n', _PARITY,
    ),
    Plant("a door gives any type", "blocking/reader.py", "Entry", "object", _TYPES, where="LedgerReader.read_entry"),
    Plant(
        "what is asked behind the end of a loop's reactor waits for ever", "aio/reactor.py",
        "not self._has_ended", "True", ["tests.test_aio"], where="LoopReactor.callLater",
    ),
    Plant(
        "the log of others is forwarded, too", "python_logging.py",
        "PredicateResult.no", "PredicateResult.maybe", ["tests.test_python_logging"], where="_is_ours",
    ),
    Plant(
        "a call on another event loop waits for ever", "aio/handle.py",
        "get_running_loop() is self._loop", "True", ["tests.test_aio"], where="Handle._on_own_loop",
    ),
    Plant(
        "an iteration on another event loop waits for ever", "aio/handle.py",
        "self._handle._on_own_loop", "", ["tests.test_aio"], where="_OwnLoopIteration._checked",
    ),
    Plant(
        "entries that were received are given on another event loop", "aio/handle.py",
        "self._loop.is_running()", "True", ["tests.test_aio"], where="_Entries.__anext__",
    ),
    Plant(
        "a batch of entries goes on behind the end of its iteration", "aio/handle.py",
        "closed, self._batch = self._batches.aclose(), iter(())", "closed = self._batches.aclose()",
        ["tests.test_aio", "tests.doors.test_doors"], where="_Entries.aclose",
    ),
    Plant(
        "an appender is made on another event loop", "aio/writers.py",
        "self._on_own_loop.appender(when_full, patience)", "self._inner.appender(when_full, patience)",
        ["tests.test_aio"], where="LedgerWriter.appender",
    ),
    Plant(
        "a client is closed on another event loop", "aio/handle.py",
        "self._on_own_loop", "self._inner", ["tests.test_aio"], where="Connection.close",
    ),
    Plant(
        "a call in a forked process waits for ever", "blocking/reactor_thread.py",
        "not self.thread.is_alive()", "False", ["tests.test_blocking"], where="_ThreadReactor.callFromThread",
    ),
    Plant(
        "a client of plain calls logs to nobody", "blocking/reactor_thread.py",
        "forward_to_logging()", "", ["tests.test_python_logging"], where="ReactorThread.reactor",
    ),
)  # fmt: skip

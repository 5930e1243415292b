"""Plants in traces and in the fields of log lines: ids on the wire, spans, pairs of strangers, fields of callers."""

from .plant import Plant

_CLIENT = ["tests.client.test_traces"]
_CODEC = ["tests.codec.v3.test_request_context"]
_BOOKIE = ["tests.bookie.requests.test_traces"]
_FIELDS = ["tests.client.test_logger_context"]

PLANTS = (
    Plant(
        "version 00 of traceparent may have more parts", "tracing/traceparent.py",
        "match is None or (match[1] == \"00\" and len(text) != SIZE)", "match is None",
        ["tests.tracing.test_traceparent"], where="decode_traceparent",
    ),
    Plant(
        "the span of the caller does not decide", "tracing/open_telemetry.py",
        "not caller.trace_flags.sampled", "False", ["tests.tracing.test_open_telemetry"],
        where="OpenTelemetryTracer.begin",
    ),
    Plant(
        "the blocking door forgets who calls", "blocking/reactor_thread.py",
        "reactor.callFromThread(copy_context().run, start)", "reactor.callFromThread(start)",
        ["tests.integration.test_traces"], where="ReactorThread.begin",
    ),
    Plant(
        "a part of the adds carries the pairs of another request", "codec/adds.py",
        "other.contexts = contexts", "other.contexts = dict.fromkeys(range(len(self)), {})", _CODEC,
        where="Adds.carrying",
    ),
    Plant(
        "the first of several traceparents in a series is taken for all", "codec/v3/request_context.py",
        "n_before += (start - done) // stride", "pass", _CODEC, where="lift_traceparents",
    ),
    Plant(
        "frames of a traced series are counted with more traceparents than they have", "codec/v3/columns.py",
        "len(found.contexts) * TRACE_SIZE", "lifted.size", _CODEC, where="traced_add_columns",
    ),
    Plant(
        "adds that are all traced are decoded one by one", "codec/v3/columns.py",
        "data.startswith(TRACE_HEAD, at + plain)", "False", _CODEC, where="traced_add_columns",
    ),
    Plant(
        "a stranger's pairs are kept however long they are", "codec/v3/request_context.py", "size > MOST_CHARACTERS",
        "False", _CODEC, where="decode_context",
    ),
    Plant(
        "control characters get into the log", "codec/v3/request_context.py", "found.isprintable()", "True", _CODEC,
        where="_printable",
    ),
    Plant(
        "a cancelled append stays among those that wait", "client/traces.py", "del self.waiting[key]", "pass", _CLIENT,
        where="AppendTraces._ended",
    ),
    Plant(
        "the largest entry is sent with ids for which its frame has no room", "client/traces.py",
        "adds.sizes((index,))[0] <= self._largest", "True", _CLIENT, where="TracedAdds.add",
    ),
    Plant(
        "a peer that marks all requests as sampled is traced without a limit", "bookie/requests/traces.py",
        "self._records.admits()", "True", _BOOKIE, where="RequestTraces._note",
    ),
    Plant(
        "requests that are not sampled use up the limit of the sampled ones", "bookie/requests/traces.py",
        "may_be_sampled(text)", "True", _BOOKIE, where="RequestTraces._note",
    ),
    Plant(
        "the ratio begins traces without a limit", "tracing/records.py",
        "is_turn and self.admits()", "is_turn", ["tests.tracing.test_records"], where="TraceRecords.decide",
    ),
    Plant(
        "an append asks the tracer past the limit", "client/writing/appends.py",
        "self._traces.decide(APPEND, is_turn)", "tracer.begin(APPEND, is_turn)", _CLIENT, where="InOrderWriter.append",
    ),
    Plant(
        "after a pause a flood of traces begins", "tracing/records.py",
        "max(self._next, now - BURST)", "self._next", ["tests.tracing.test_records"], where="TraceRecords.admits",
    ),
    Plant(
        "each traced add makes a span of the group", "bookie/requests/traces.py",
        "group is None or group.ids is not None", "group is None", _BOOKIE, where="AnsweredRequest.spans",
    ),
    Plant(
        "all requests of an append have one id", "tracing/traceparent.py",
        "number & _PARTS", "1", _CLIENT, where="part_text",
    ),
    Plant(
        "records wait for a timer however many there are", "tracing/records.py", "len(records) >= MOST_RECORDS",
        "False", ["tests.tracing.test_records"], where="TraceRecords.add",
    ),
    Plant(
        "a client that closes forgets its last spans", "client/bookkeeper.py", "self._context.records.flush()", "pass",
        _CLIENT, where="BookKeeper._close",
    ),
    Plant(
        "a bookie that stops forgets its last spans", "bookie/engine.py", "self.context.traces.flush()", "pass",
        _BOOKIE, where="Engine.stop",
    ),
    Plant(
        "an operation whose turn has not come is traced because its caller has a context",
        "tracing/open_telemetry.py", "not is_turn", "False", ["tests.tracing.test_open_telemetry"],
        where="OpenTelemetryTracer.begin",
    ),
    Plant(
        "all gaps between sampled operations are alike", "tracing/open_telemetry.py",
        "(self._ids.generate_span_id() + 1) / 2**SPAN_BITS", "0.5", ["tests.tracing.test_open_telemetry"],
        where="OpenTelemetryTracer._gap",
    ),
    Plant(
        "an append within a span is not traced unless its turn has come", "client/writing/appends.py",
        "is_turn or tracer.caller()", "is_turn", ["tests.integration.test_traces"],
        where="InOrderWriter.append",
    ),
    Plant(
        "a traceparent of another size is encoded as one of the usual size", "codec/v3/request_context.py",
        "len(value := pairs.get(_TRACEPARENT_NAME, \"\")) == _TRACEPARENT_SIZE",
        "(value := pairs.get(_TRACEPARENT_NAME, \"\"))", _CODEC, where="context_fields",
    ),
    Plant(
        "the fields of a caller replace those of the event", "client/logger_context.py",
        "event[\"logger_context\"] = self._context", "event.update(self._context, logger_context=self._context)",
        _FIELDS, where="_InContext.__call__",
    ),
    Plant(
        "fields are written to the log with their control characters", "client/logger_context.py",
        "text.isprintable() and text and not set(text) & set(\" =\\\"'[]\")", "True", _FIELDS, where="_word",
    ),
    Plant(
        "the fields of a ledger's caller are forgotten by its writer", "client/writing/base_writer.py",
        "LacNotice(ledger.bookies, ledger.digester, logger_context=ledger.logger_context)",
        "LacNotice(ledger.bookies, ledger.digester)", _FIELDS, where="BaseWriter._quorum_writer",
    ),
    Plant(
        "the fields of a caller are kept as the object that the caller can change", "client/logger_context.py",
        "LoggerContext(fields) or None", "fields or None", _FIELDS, where="checked_context",
    ),
    Plant(
        "a recovery forgets the fields of the caller where it writes back", "client/recovery/ledger_recovery.py",
        "self._logger_context", "None", _FIELDS, where="LedgerRecovery._rescue",
    ),
    Plant(
        "pairs are logged without the key that asks for it", "bookie/requests/slow_requests.py",
        "context and self.keeps_context", "context", _BOOKIE, where="SlowRequests.fields_of",
    ),
)  # fmt: skip

"""Plants in the texts of errors that a client raises: which bookie and which ledger they name."""

from .plant import Plant

_CONTRACT = ["tests.client.connections.test_bookie_client"]
_ERRORS = "protocol/client/request_errors.py"

_FAILED = ["tests.client.writing.test_failed_bookies"]
_CHANGES = ["tests.client.writing.test_quorum_writer_changes"]
_ANSWERS = ["tests.ledger.test_read_answers"]
_CONNECTION = ["tests.protocol.client.test_connection", "tests.protocol.client.test_client_wires"]

PLANTS = (
    Plant(
        "a late reply to adds has the time limit of reads", "protocol/client/connection.py",
        "limits.add_timeout if isinstance(sent, AddsPart) else limits.read_timeout + sent.patience",
        "limits.read_timeout", _CONNECTION, where="ClientConnection._scan",
    ),
    Plant(
        "a late reply to a long poll does not count its patience", "protocol/client/connection.py",
        "limits.read_timeout + sent.patience", "limits.read_timeout", _CONNECTION, where="ClientConnection._scan",
    ),
    Plant(
        "a late reply names the requests of numbered reads instead of their entries", "protocol/client/sent_reads.py",
        "self.entries or (self.scope or 0, self.ids)", "(self.scope or 0, self.ids)",
        ["tests.protocol.client.test_connection.ConnectionV3Tests"], where="SentReads.asked",
    ),
    Plant(
        "a late reply to adds of many ledgers names one of them", "protocol/client/sent_adds.py",
        "len(ledgers := set(ledger_ids)) > 1", "len(ledgers := set(ledger_ids)) > 5",
        ["tests.protocol.client.test_connection_adds"], where="AddsPart.asked",
    ),
    Plant(
        "a failed read does not say who was asked", "ledger/read_answers.py",
        "len(errors) > 1", "False", _ANSWERS, where="failed_request",
    ),
    Plant(
        "a damaged entry does not say of which bookie it is", "ledger/read_answers.py",
        "f'{error.detail} (bookie {bookie_id})'", "error.detail", _ANSWERS, where="failed_request",
    ),
    Plant(
        "a lost connection does not say of which ledger", "ledger/read_answers.py",
        "f'ledger {ledger_id}{entry}: {text}'", "text", _ANSWERS, where="failed_request",
    ),
    Plant(
        "a failed read loses the cause of its error", "ledger/read_answers.py",
        "told.__cause__ = error.__cause__", "", _ANSWERS, where="failed_request",
    ),
    Plant(
        "a bookie is named by one whose name begins alike", "ledger/read_answers.py",
        "re.search(rf'(?<![\\w.-]){re.escape(bookie_id)}(?![\\w.-])', text)", "bookie_id[:3] in text", _ANSWERS,
        where="with_bookie",
    ),
    Plant(
        "a sync that fails does not say of which ledger", "client/writing/base_writer.py",
        "failed_request(failed, ledger_id)", "next(iter(failed.values()))",
        ["tests.client.writing.test_base_writer.DeferredSyncTests"], where="force_ensemble",
    ),
    Plant(
        "too few answers in time do not say from whom", "ledger/lac_answers.py",
        "isinstance(error, ClientClosedError | UnauthorizedAccessError)",
        "isinstance(error, ClientClosedError | UnauthorizedAccessError | RequestTimeoutError)",
        ["tests.client.reading.test_lac_coverage"], where="lac_failure",
    ),
    Plant(
        "a question for the LAC that is refused fails as one without answers", "ledger/lac_answers.py",
        "isinstance(error, ClientClosedError | UnauthorizedAccessError)", "isinstance(error, ClientClosedError)",
        ["tests.client.reading.test_lac_reads"], where="lac_failure",
    ),
    Plant(
        "a question for the LAC that times out fails as a read", "ledger/lac_answers.py",
        "RequestTimeoutError if errors and isinstance([*errors.values()][-1], RequestTimeoutError) else ReadError",
        "ReadError", ["tests.client.reading.test_lac_reads"], where="lac_failure",
    ),
    Plant(
        "an error with fields gets its text as a ledger", "client/writing/failed_bookies.py",
        "if not isinstance(why, _PLAIN):\n    return why", "", _FAILED, where="FailedBookies.explained",
    ),
    Plant(
        "an ack quorum that is late does not say who was asked", "client/writing/failed_bookies.py",
        "', '.join((ensemble[position] for position in schedule.write_set(entry_id)))", "''", _CHANGES,
        where="quorum_timed_out",
    ),
    Plant(
        "an ensemble change that failed does not say of which ledger", "client/writing/quorum_writer.py",
        "of_ledger(error, self.ledger_id)", "error",
        ["tests.client.writing.test_base_writer.DeferredSyncTests"], where="QuorumWriter._change_failed",
    ),
    Plant(
        "a refused request does not name the bookie", _ERRORS,
        "ERROR_OF_STATUS[status](ledger_id, entry_id, bookie_id=bookie_id)",
        "ERROR_OF_STATUS[status](ledger_id, entry_id)", _CONTRACT, where="refused",
    ),
    Plant(
        "an error response with the status EOK has no text", _ERRORS,
        'f"bookie {bookie_id} answered with an error response, and with the status EOK"', '""',
        ["tests.protocol.client.test_client_wires"], where="refused",
    ),
    Plant(
        "a refused read does not name the bookie", "client/connections/flow.py",
        "ERROR_OF_STATUS[reply.status](ledger_id, entry_id, bookie_id=bookie_id)",
        "ERROR_OF_STATUS[reply.status](ledger_id, entry_id)", _CONTRACT, where="Flow.read",
    ),
)

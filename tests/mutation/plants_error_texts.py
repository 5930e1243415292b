"""Plants in the texts of errors that a client raises: which bookie and which ledger they name."""

from .plant import Plant

_CONTRACT = ["tests.client.connections.test_bookie_client"]
_READS = ["tests.client.reading.test_replica_reads"]
_ERRORS = "protocol/client/request_errors.py"

PLANTS = (
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
    Plant(
        "one of several reads does not name the bookie", "client/reading/replica_reads.py",
        "repeat(bookie_id)", 'repeat("")', _READS, where="ReplicaReader._read_from",
    ),
)

"""Frames computed from the layouts of the protocol: V2 and V3, requests and responses of every kind.

Ledger 1, empty password, CRC32C; entry 0 is ``hello``, entry 1 ``world``.  The V3 frames are those of
Java's encoder, which writes ``flag`` first.
"""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.operations import (
    AUTH_DISABLED_PLUGIN,
    FENCE,
    HIGH_PRIORITY,
    RECOVERY_ADD,
    Operation,
    V2Op,
)
from bookkeeper_twisted.codec.runs import AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.v2 import replies_out as v2_replies_out
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import replies_out as v3_replies_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status

from .flatten import encode_request, flat
from .wire_examples import v3_adds

KEY = bytes.fromhex("850bf1071c5e3d8c24235676f8816ae0cbe2f14f")
HELLO = bytes.fromhex("0000000000000001 0000000000000000 ffffffffffffffff 0000000000000005 e3a5f74d 68656c6c6f")
WORLD = bytes.fromhex("0000000000000001 0000000000000001 0000000000000000 000000000000000a e6930431 776f726c64")
BOTH = EntryRun.of_entries(1, 0, [HELLO, WORLD])
LAC_PACKET = bytes.fromhex("0000000000000001 0000000000000007 62842849")


def v3_header(operation: Operation, txn_id: int) -> m.Header:
    """A plain V3 header."""
    return m.Header(V3, 3, operation, txn_id)


class V2Tests(SynchronousTestCase):
    """Frames of V2."""

    def check(self, data: bytes, text: str) -> None:
        self.assertEqual(data.hex(), text.replace(" ", ""))

    def test_add(self) -> None:
        """An add, a ledger-recovery add, and the replies EOK and EFENCED."""
        run = BOTH.slice(0, 1)
        body = KEY.hex() + HELLO.hex()
        self.check(v2_requests_out.encode_adds(KEY, run), "00000041 02010000" + body)
        self.check(v2_requests_out.encode_adds(KEY, run, RECOVERY_ADD | HIGH_PRIORITY), "00000041 02010006" + body)
        adds = AddRun(V2, 2, 0, False, KEY, run)
        self.check(adds.replies(Status.EOK), "00000018 02010000 00000000 0000000000000001 0000000000000000")
        self.check(adds.replies(Status.EFENCED), "00000018 02010000 00000068 0000000000000001 0000000000000000")

    def test_read(self) -> None:
        """A read with its replies, and a fencing read of the last entry."""
        self.check(v2_requests_out.encode_reads(1, [0]), "00000014 02020000 0000000000000001 0000000000000000")
        reads = ReadRun(V2, 2, 0, [1], [0])
        self.check(
            reads.reply(0, Status.EOK, HELLO),
            "00000041 02020000 00000000 0000000000000001 0000000000000000" + HELLO.hex(),
        )
        self.check(reads.reply(0, Status.ENOENTRY), "00000018 02020000 00000002 0000000000000001 0000000000000000")
        fence = m.ReadRequest(m.Header(V2, 2, V2Op.READ), 1, -1, True, False, KEY)
        self.check(
            v2_requests_out.encode_request(fence), "00000028 02020001 0000000000000001 ffffffffffffffff" + KEY.hex()
        )

    def test_batch_read(self) -> None:
        """A batch read, the reply with two entries, and ENOLEDGER."""
        request = BatchRead(V2, 2, 0, 1, 0, 9, 10, 1024)
        ids = "0000000000000001 0000000000000000 0000000000000009"
        self.check(v2_requests_out.encode_batch_read(request), f"00000028 02070000 {ids} 0000000a 0000000000000400")
        reply = b"".join(request.success([BOTH]))
        self.assertEqual(len(reply), 126)
        self.check(reply, f"0000007a 02070000 00000000 {ids} 00000029 {HELLO.hex()} 00000029 {WORLD.hex()}")
        self.check(request.failure(Status.ENOLEDGER), f"00000020 02070000 00000001 {ids}")

    def test_auth(self) -> None:
        """The first AUTH of SASL, and the reply of a bookie without authentication, which is of version 2."""
        self.check(
            v2_requests_out.encode_request(m.AuthRequest(m.Header(V2, 2, V2Op.AUTH), "sasl", b"")),
            "0000000c 02030000 0a04 7361736c 1200",
        )
        for version in (1, 2):
            disabled = m.AuthResponse(m.Header(V2, version, V2Op.AUTH), AUTH_DISABLED_PLUGIN, b"")
            self.check(
                v2_replies_out.encode_response(disabled),
                "0000001a 02030000 0a12 4175746844697361626c6564506c7567696e 1200",
            )


class V3Tests(SynchronousTestCase):
    """Frames of V3."""

    def check(self, data: bytes, text: str) -> None:
        self.assertEqual(data.hex(), text.replace(" ", ""))

    def test_add(self) -> None:
        """An add, its reply, and the refusal of a peer that has not authenticated."""
        run = BOTH.slice(0, 1)
        self.check(
            v3_adds(KEY, run, 0, False, 1),
            f"00000050 0a06080310021801 aa0645 0801 1000 1a14 {KEY.hex()} 2229 {HELLO.hex()}",
        )
        reply = AddRun(V3, 3, 0, False, KEY, run, [1]).replies(Status.EOK)
        self.check(reply, "00000013 0a06080310021801 1000 aa0606 0800 1001 1800")
        bare = m.ErrorResponse(v3_header(Operation.ADD, 1), Status.EUA)
        self.check(v3_replies_out.encode_response(bare), "0000000b 0a06080310021801 10f603")

    def test_fencing_read(self) -> None:
        """A fencing read in Java's field order; in number order it reads the same."""
        fence = m.ReadRequest(v3_header(Operation.READ, 2), 1, -1, True, False, KEY)
        java = v3_requests_out.encode_request(fence)
        rest = f"0801 10ffffffffffffffffff01 1a14 {KEY.hex()}"
        self.check(java, f"00000031 0a06080310011802 a20626 a00601 {rest}")
        number_order = bytes.fromhex(f"00000031 0a06080310011802 a20626 {rest} a00601")
        self.assertEqual(ServerDecoder().receive(number_order), [fence])
        self.assertEqual(ServerDecoder().receive(java), [fence])

    def test_reads(self) -> None:
        """A long poll, and the reply to a plain read."""
        poll = m.ReadRequest(
            v3_header(Operation.READ, 3), 1, -1, previous_lac=0, timeout_ms=1000, piggyback=True
        )  # fmt: skip
        self.check(
            v3_requests_out.encode_request(poll),
            "00000020 0a06080310011803 a20615 a00602 0801 10ffffffffffffffffff01 2000 28e807",
        )
        self.check(
            ReadRun(V3, 3, 0, [1], [0], [2]).reply(0, Status.EOK, HELLO, -1),
            f"00000049 0a06080310011802 1000 a2063c 0800 1001 1800 2229 {HELLO.hex()} 28ffffffffffffffffff01",
        )

    def test_lac(self) -> None:
        """Writing and reading the LAC, and ENOENTRY where there is none."""
        write = m.WriteLacRequest(v3_header(Operation.WRITE_LAC, 4), 1, 7, KEY, LAC_PACKET)
        self.check(
            v3_requests_out.encode_request(write),
            f"0000003b 0a06080310061804 ba0630 0801 1007 1a14 {KEY.hex()} 2214 {LAC_PACKET.hex()}",
        )
        header = v3_header(Operation.READ_LAC, 5)
        self.check(v3_requests_out.encode_request(m.ReadLacRequest(header, 1)), "0000000d 0a06080310071805 c20602 0801")
        none = m.ReadLacResponse(header, Status.ENOENTRY, 1)
        self.check(v3_replies_out.encode_response(none), "00000013 0a06080310071805 109303 c20605 089303 1001")

    def test_auth_and_tls(self) -> None:
        """AUTH, START_TLS and their answers."""
        auth = v3_header(Operation.AUTH, 1)
        self.check(
            v3_requests_out.encode_request(m.AuthRequest(auth, "sasl", b"")),
            "00000013 0a06080310051801 b20608 0a047361736c1200",
        )
        self.check(
            v3_replies_out.encode_response(m.AuthResponse(auth, AUTH_DISABLED_PLUGIN, b"")),
            "00000023 0a06080310051801 1000 b20616 0a124175746844697361626c6564506c7567696e1200",
        )
        tls = v3_header(Operation.START_TLS, 6)
        self.check(v3_requests_out.encode_request(m.StartTlsRequest(tls)), "0000000b 0a06080310091806 d20600")
        self.check(
            v3_replies_out.encode_response(m.StartTlsResponse(tls, Status.EOK)), "0000000d 0a06080310091806 1000 d20600"
        )
        self.check(
            v3_replies_out.encode_response(m.StartTlsResponse(tls, Status.EBADREQ)), "0000000b 0a06080310091806 109403"
        )

    def test_info_and_force(self) -> None:
        """Bookie info asking for both sizes, and a force."""
        info = m.BookieInfoRequest(v3_header(Operation.BOOKIE_INFO, 7), 3)
        self.check(v3_requests_out.encode_request(info), "0000000d 0a06080310081807 ca0602 0803")
        force = m.ForceLedgerRequest(v3_header(Operation.FORCE_LEDGER, 8), 1)
        self.check(v3_requests_out.encode_request(force), "0000000d 0a060803100a1808 da0602 0801")

    def test_batch_read(self) -> None:
        """BP-62's batch read, which Java has not defined: fields in Java's order, every entry a body."""
        request = BatchRead(V3, 3, FENCE, 1, 0, 9, 10, 1024, KEY, 5, 1000)
        data = v3_requests_out.encode_batch_read(request)
        self.check(
            data,
            f"00000032 0a060803100c1809 ea0627 a00601 0801 1000 180a 208008 2a14{KEY.hex()} 3005 38e807",
        )
        (item,) = ServerDecoder().receive(data)
        self.assertEqual(flat([item]), flat([request]))
        self.assertEqual(encode_request(item), data)
        bodies = f"2229 {HELLO.hex()} 2229 {WORLD.hex()}"
        self.check(
            b"".join(request.success([BOTH], 1)),
            f"0000006b 0a060803100c1809 1000 ea065e 0800 1001 1800 {bodies} 2801",
        )
        self.check(request.failure(Status.ENOENTRY), "00000015 0a060803100c1809 109303 ea0607 089303 1001 1800")

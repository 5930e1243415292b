"""Numbers of operations agree with the schema."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.protobuf import wire_pb
from bookkeeper_twisted.errors import Status


class OperationTests(SynchronousTestCase):
    """Our enums and the protobuf ones."""

    def test_numbers(self) -> None:
        """Operations and statuses are those of the schema, none left out."""
        self.assertEqual(sorted(wire_pb.OperationType.values()), sorted(Operation))
        self.assertEqual({name: int(s) for name, s in Status.__members__.items()}, dict(wire_pb.StatusCode.items()))

    def test_v2(self) -> None:
        """V2 has four operations; 4, 5 and 6 are reserved and never on the wire."""
        self.assertEqual([int(op) for op in V2Op], [1, 2, 3, 7])

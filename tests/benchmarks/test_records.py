"""What the records of TLS cost."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from ..protocol.tls_ends import missing


class RecordsTests(SynchronousTestCase):
    """Two ends in this process."""

    skip = missing()

    def test_printed(self) -> None:
        """Each size and the bare call have figures, which are times."""
        from benchmarks.bookie import records

        out = StringIO()
        with redirect_stdout(out):
            self.assertEqual(records.main(["--repeats", "2"]), 0)
        found = json.loads(out.getvalue())["ms a MB"]
        self.assertEqual(list(found), [records.BARE, *(f"{size} B" for size in records.SIZES)])
        times = [found.pop(records.BARE), *(time for each in found.values() for time in each.values())]
        self.assertEqual(len(times), 1 + 2 * len(records.SIZES))
        self.assertGreater(min(times), 0)

    def test_wrong(self) -> None:
        """Bytes that do not arrive as they were have no figures."""
        from benchmarks.bookie import records
        from benchmarks.shared.certificates import make_files

        server, client = records.connected(make_files(Path(self.mktemp())))
        with patch.object(client, "decrypt", lambda data: b""):
            self.assertRaises(ValueError, records.records, server, client, 1024, 1)

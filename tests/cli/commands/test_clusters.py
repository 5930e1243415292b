"""``metaformat``, ``initnewcluster``, ``whatisinstanceid``."""

from ..shell_case import ShellCase


class ClusterCommandsTests(ShellCase):
    """On a cluster that exists: an embedded store is made by who opens it."""

    def _instance_id(self) -> str:
        self.assertEqual(self.shell("whatisinstanceid"), 0)
        (text,) = self.printed
        start = f"Metadata Service Uri: InstanceId {{metadataServiceUriUnchecked={self.uri}, readInstanceId="
        self.assertTrue(text.startswith(start), text)
        return text.removeprefix(start).removesuffix("}")

    def test_instance_id(self) -> None:
        """It is the id of the cluster."""
        self.assertEqual(self._instance_id(), self.do(self.cluster.registration.instance_id()))

    def test_format_after_a_question(self) -> None:
        """Answered with N it changes nothing and has status 1; answered with Y it formats."""
        before = self._instance_id()
        self.written(1)
        self.answers = [False, True]
        self.assertEqual(self.shell("metaformat"), 1)
        self.assertEqual(self._instance_id(), before)
        self.assertEqual(self.shell("metaformat"), 0)
        self.assertNotEqual(self._instance_id(), before)
        self.assertEqual(self.shell("listledgers"), 0)
        self.assertEqual(self.printed, [])
        question = (
            "Ledger root already exists. Are you sure to format bookkeeper metadata? This may cause data loss."
        )  # fmt: skip
        self.assertEqual(self.questions, [question] * 2)

    def test_format_without_a_question(self) -> None:
        """With -n it refuses to touch a cluster, unless it is forced."""
        before = self._instance_id()
        self.assertEqual(self.shell("metaformat", "-n"), 1)
        self.assertEqual(self.printed, ["Ledger root already exists: -force formats it"])
        self.assertEqual(self._instance_id(), before)
        self.assertEqual(self.shell("metaformat", "-nonInteractive", "--force"), 0)
        self.assertNotEqual(self._instance_id(), before)
        self.assertEqual(self.questions, [])

    def test_init(self) -> None:
        """A cluster that exists is left alone, with status 1; elsewhere one is made."""
        self.assertEqual(self.shell("initnewcluster"), 1)
        self.assertRegex(self.printed[0], "^Ledger root path already exists {ledgersRootPath=.*}$")
        self.environ["BK_metadataServiceUri"] = "memory:"
        self.assertEqual(self.shell("initnewcluster"), 0)
        self.assertEqual(self.printed, [])

    def test_format_of_nothing(self) -> None:
        """Where there is no cluster nothing is asked."""
        self.environ["BK_metadataServiceUri"] = "memory:"
        self.assertEqual(self.shell("metaformat"), 0)
        self.assertEqual(self.questions, [])

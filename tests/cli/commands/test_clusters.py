"""``metaformat``, ``initnewcluster``, ``nukeexistingcluster``, ``clusterinfo``, ``whatisinstanceid``."""

from typing import Any

from bookkeeper_twisted.client import admin
from bookkeeper_twisted.metadata.drivers import create_cluster_admin
from bookkeeper_twisted.metadata.interfaces import IClusterAdmin, MetadataOptions
from bookkeeper_twisted.model import BookieServiceInfo

from ...vectors.shell import capture
from ..shell_case import BOOKIES, ShellCase


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
        for forced in (("-nonInteractive", "--force"), ("-f",)):
            self.assertEqual(self.shell("metaformat", *forced), 0)
            self.assertNotEqual(self._instance_id(), before)
            before = self._instance_id()
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

    def test_keys_of_the_store(self) -> None:
        """Each verb connects to the store with the keys of the configuration, such as those for its access rights."""
        made: list[MetadataOptions] = []

        def recorded(reactor: Any, uri: str, options: MetadataOptions) -> IClusterAdmin:
            made.append(options)
            return create_cluster_admin(reactor, uri, options)

        self.patch(admin, "create_cluster_admin", recorded)
        self.environ |= {"BK_zkAuth": "digest:bk:secret", "BK_zkEnableSecurity": "true", "BK_zkTimeout": "7000"}
        verbs = [
            ("initnewcluster",), ("metaformat", "-f"), ("whatisinstanceid",),
            ("nukeexistingcluster", "-f", "-p", self.uri.partition(":")[2]),
        ]  # fmt: skip
        for verb in verbs:
            self.shell(*verb)
        self.assertEqual(
            [(options.auth, options.secure, options.session_timeout) for options in made],
            [(("digest:bk:secret",), True, 7.0)] * len(verbs),
        )

    def test_info(self) -> None:
        """The text of Apache's shell: bookies, auditor, marks."""
        for bookie_id in BOOKIES:
            self.do(self.cluster.registration.write_cookie(bookie_id, b"5\n", None))
        self.do(self.cluster.underreplication.mark(7, [BOOKIES[0]], None))
        expected = capture("clusterinfo")
        self.assertEqual(self.shell(*expected.arguments), 0)
        self.assertEqual("\n".join(self.printed).split("\n"), expected.printed)


class NukeTests(ShellCase):
    """The end of a cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.root = self.uri.partition(":")[2]
        self.instance_id = self.do(self.cluster.registration.instance_id())
        self.written(1)
        for bookie_id in BOOKIES:
            self.do(self.cluster.registration.unregister_bookie(bookie_id))

    def nuke(self, *arguments: str) -> int:
        """The exit status of the verb."""
        return self.shell("nukeexistingcluster", "-p", self.root, *arguments)

    def ledgers(self) -> int:
        """How many ledgers there are."""
        self.assertEqual(self.shell("listledgers"), 0)
        return len(self.printed)

    def test_asked(self) -> None:
        """With the right instance id it asks; answered with N nothing is removed, answered with Y everything is."""
        self.answers = [False, True]
        self.assertEqual((self.nuke("-i", self.instance_id), self.ledgers()), (1, 1))
        self.assertEqual(self.nuke("-instanceid", self.instance_id), 0)
        self.assertEqual(
            self.printed,
            [f"The metadata of the cluster are removed {{ledgersRootPath={self.root}, instanceId={self.instance_id}}}"],
        )
        self.assertEqual(self.ledgers(), 0)
        self.assertEqual(len(self.questions), 2)
        self.assertIn(self.instance_id, self.questions[0])

    def test_forced(self) -> None:
        """With force it neither asks nor wants an instance id."""
        self.assertEqual((self.nuke("-force"), self.ledgers(), self.questions), (0, 0, []))

    def test_refused(self) -> None:
        """Another cluster, another root, both ways to confirm or none, bookies that run: nothing is removed."""
        for arguments, said in (
            (("-i", "another"), f"Provided InstanceId .* {{instanceId=another, readInstanceId={self.instance_id}}}"),
            ((), "Either force option or instanceid should be specified"),
            (("-f", "-i", self.instance_id), "Either force option or instanceid should be specified"),
            (("-p", "/elsewhere", "-f"), "Provided ledgerRootPath does not match config's ledgerRootPath"),
        ):
            with self.subTest(arguments):
                self.assertEqual(self.nuke(*arguments), 1)
                self.assertRegex(self.printed[0], said)
        self.do(self.cluster.registration.register_bookie(BOOKIES[0], False, BookieServiceInfo()))
        self.assertEqual(self.nuke("-f"), 255)
        self.assertEqual(self.complaints, [f"nukeexistingcluster: bookies are registered: {BOOKIES[0]}"])
        self.assertEqual((self.ledgers(), self.questions), (1, []))

    def test_no_root(self) -> None:
        """Without the root the usage of the verb is printed."""
        self.assertEqual(self.shell("nukeexistingcluster", "-f"), 255)
        self.assertIn("required: -p", self.complaints[0])

    def test_nothing_there(self) -> None:
        """Where there is no cluster there is nothing to do."""
        self.environ["BK_metadataServiceUri"], self.root = "memory:", ""
        self.assertEqual(self.nuke("-f"), 0)
        self.assertEqual(self.printed, ["There is no existing cluster, exiting nuke operation {ledgersRootPath=}"])

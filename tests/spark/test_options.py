"""Parsing the options of source and sink."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.spark.id_ranges import ALL_IDS
from bookkeeper_twisted.spark.options import SinkOptions, SourceOptions, without_password

URI = {"metadataserviceuri": "memory:"}


class SourceOptionTests(SynchronousTestCase):
    """Options of the source."""

    def parse(self, **options: str) -> SourceOptions:
        """As Spark gives them: keys in lower case."""
        return SourceOptions.parse(URI | {key.lower(): value for key, value in options.items()})

    def refused(self, wanted: str, **options: str) -> None:
        """The error for options says what is wanted."""
        error = self.assertRaises(ConfigError, self.parse, **options)
        self.assertRegex(str(error), wanted)

    def test_every_kind(self) -> None:
        """Ids with ranges, sizes with units, offsets, flags and patterns are read in any case of their keys."""
        reading = self.parse(
            ledgers="5,1-3", maxBytesPerPartition="2m", startingOffsets='{"1": 7}', endingOffsets="latest",
            failOnDataLoss="false", maxOffsetsPerTrigger="9",
        ).reading  # fmt: skip
        self.assertEqual((reading.ledgers.ranges, str(reading.ledgers)), (((1, 3), (5, 5)), "1-3,5"))
        self.assertEqual((reading.max_bytes_per_partition, reading.max_entries_per_trigger), (2 << 20, 9))
        self.assertEqual((reading.starting_offsets, reading.ending_offsets), ({1: 7}, "latest"))
        self.assertFalse(reading.fail_on_data_loss)
        pattern = self.parse(ledgersPattern="application=a.*; shard=[0-3]").reading.ledgers_pattern
        self.assertEqual(pattern, (("application", "a.*"), ("shard", "[0-3]")))

    def test_client_options(self) -> None:
        """What begins with ``bookkeeper.`` goes to the client; the password is kept apart."""
        options = self.parse(ledger="1", **{"bookkeeper.zkTimeout": "77", "bookkeeper.passwd": "secret"})
        self.assertEqual((options.client.zk_timeout, options.password.value), (77, b"secret"))

    def test_password(self) -> None:
        """The password has two names, of which one may be used: Spark masks only the newer one."""
        for key in ("bookkeeper.password", "bookkeeper.passwd", "bookkeeper.Password"):
            self.assertEqual(self.parse(ledger="1", **{key: "secret"}).password.value, b"secret")
            rest, password = without_password({key: "secret", "ledger": "1"})
            self.assertEqual((rest, password), ({"ledger": "1"}, "secret"))
        both = {"bookkeeper.password": "secret", "bookkeeper.passwd": "secret"}
        self.refused("bookkeeper.password and bookkeeper.passwd are two names of one option", ledger="1", **both)

    def test_secrets_are_not_shown(self) -> None:
        """No text of the options has the password or the credential of the metadata store."""
        secrets = {"bookkeeper.passwd": "hidden", "bookkeeper.zkAuth": "digest:user:hidden"}
        self.assertNotIn("hidden", repr(self.parse(ledger="1", **secrets)))
        self.assertNotIn("hidden", repr(SinkOptions.parse(URI | {k.lower(): v for k, v in secrets.items()})))

    def test_mistakes_name_the_option(self) -> None:
        """A missing, unknown or wrong option is named, and a likely one is offered."""
        self.refused("one of the options ledger, ledgers, ledgersPattern")
        self.refused("ledger and ledgers exclude", ledger="1", ledgers="2")
        self.refused("option ledgr is unknown; did you mean ledger", ledgr="1")
        self.refused(
            "bookkeeper.zktimeot is unknown; did you mean bookkeeper.zkTimeout", **{"bookkeeper.zkTimeot": "1"}
        )
        self.refused("option ledger.*ledger ids and ranges", ledger="one")
        self.refused("option startingOffsets.*earliest, latest or JSON", ledger="1", startingOffsets="[1]")
        self.refused("option startingOffsets.*begin at 0", ledger="1", startingOffsets='{"1": -1}')
        self.refused("option ledgersPattern.*regular expression", ledgersPattern="a=(")
        self.refused("option ledgersPattern.*key=", ledgersPattern="a")
        self.refused("option maxBytesPerPartition.*at least 1", ledger="1", maxBytesPerPartition="0")
        self.refused("option maxBytesPerPartition.*1m", ledger="1", maxBytesPerPartition="1x")
        self.refused("option tasksAtOnce is missing", ledger="1", maxBytesPerSecond="1m")
        self.refused("bookkeeper.digestType: .*'MD5' was given", ledger="1", **{"bookkeeper.digestType": "md5"})
        error = self.assertRaises(ConfigError, SourceOptions.parse, {"ledger": "1"})
        self.assertIn("metadataServiceUri is missing", str(error))

    def test_ids(self) -> None:
        """Ranges may overlap and be as long as ids allow; one that is empty or beyond them is refused by name."""
        self.assertEqual(self.parse(ledgers="7,5-9,0-9223372036854775807").reading.ledgers, ALL_IDS)
        for key, text, wanted in (
            ("ledgers", "3,9-5", "9-5 is no range"), ("ledgers", "9223372036854775808", "no ledger id is above 92233"),
            ("ledgers", "9" * 5000, "option ledgers"), ("ledgers", "5-", "expected ledger ids and ranges"),
            ("ledgers", "", "option ledgers is empty"), ("ledgersPattern", " ", "option ledgersPattern is empty"),
            ("manifest", "", "option manifest is empty"),
        ):  # fmt: skip
            for view in ("entries", "ledgers", "fragments"):
                self.refused(wanted, view=view, **{key: text})

    def test_offsets(self) -> None:
        """Entry ids of offsets are whole numbers, and a read does not end before it begins."""
        for text in ('{"1": 2.7}', '{"1": true}', '{"1": null}', '{"1": "7"}'):
            self.refused("option endingOffsets.*whole numbers", ledger="1", endingOffsets=text)
        self.parse(ledger="1", startingOffsets='{"1": 7}', endingOffsets='{"1": 7}')
        self.refused(
            "option endingOffsets is 6 for ledger 1, before option startingOffsets with 7", ledgers="1,2",
            startingOffsets='{"1": 7, "2": 0}', endingOffsets='{"2": 5, "1": 6}',
        )  # fmt: skip

    def test_digest_types(self) -> None:
        """Digest types are known by their names in any case, with Java's word for HMAC among them."""
        for name, wanted in (("MAC", DigestType.HMAC), ("mac", DigestType.HMAC), ("crc32c", DigestType.CRC32C)):
            options = SinkOptions.parse(URI | {"bookkeeper.digesttype": name})
            self.assertEqual(options.digest_type, wanted)

    def test_share_of_a_limit(self) -> None:
        """A limit is split among the tasks that run at a time, in the source and in the sink."""
        given = {"maxBytesPerSecond": "1m", "maxEntriesPerSecond": "500", "tasksAtOnce": "4"}
        self.assertEqual(self.parse(ledger="1", **given).reading.share, Rate(125, 262_144))
        sink = SinkOptions.parse(URI | {key.lower(): value for key, value in given.items()})
        self.assertEqual(sink.writing.share, Rate(125, 262_144))
        self.assertFalse(self.parse(ledger="1").reading.share)

    def test_options_of_spark(self) -> None:
        """Options that Spark adds are not taken for mistakes."""
        self.parse(ledger="1", path="x", checkpointLocation="y")


class SinkOptionTests(SynchronousTestCase):
    """Options of the sink."""

    def test_quorums_and_digest(self) -> None:
        """Quorums are checked against each other; the digest type is that of new ledgers."""
        options = SinkOptions.parse(URI | {"bookkeeper.digesttype": "hmac", "ensemblesize": "5"})
        self.assertEqual((options.digest_type, options.writing.ensemble_size), (DigestType.HMAC, 5))
        error = self.assertRaises(ConfigError, SinkOptions.parse, URI | {"writequorum": "4"})
        self.assertIn("ensembleSize >= writeQuorum", str(error))

    def test_options_of_the_other_side(self) -> None:
        """An option of the source is not taken for a misspelt one of the sink, nor the other way round."""
        for kind, key, wanted in ((SinkOptions, "ledgerspattern", "ledgersPattern is for reading only"),
                                  (SourceOptions, "writeid", "writeId is for writing only")):  # fmt: skip
            error = self.assertRaises(ConfigError, kind.parse, URI | {key: "1"})
            self.assertIn(wanted, str(error))

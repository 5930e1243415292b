"""The text in which requests carry the ids of spans."""

from itertools import islice

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.tracing.traceparent import PART_BITS, SIZE, SpanIds, decode_traceparent, new_span_ids, part_text

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
IDS = SpanIds(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)
GOOD = f"00-{TRACE}-{SPAN}-01"


class TraceparentTests(SynchronousTestCase):
    """The form of the standard, and no other."""

    def test_both_ways(self) -> None:
        """The example of the standard is decoded and encoded, sampled or not."""
        self.assertEqual(decode_traceparent(GOOD), IDS)
        self.assertEqual((IDS.text, len(GOOD)), (GOOD, SIZE))
        other = IDS._replace(is_sampled=False)
        self.assertEqual((other.text, decode_traceparent(other.text)), (GOOD[:-1] + "0", other))
        for ids in (SpanIds(1, 1), SpanIds((1 << 128) - 1, (1 << 64) - 1, False)):
            self.assertEqual(decode_traceparent(ids.text), ids)

    def test_flags(self) -> None:
        """Flags that the version does not define are ignored."""
        self.assertEqual(decode_traceparent(f"00-{TRACE}-{SPAN}-ff"), IDS)
        self.assertEqual(decode_traceparent(f"00-{TRACE}-{SPAN}-fe"), IDS._replace(is_sampled=False))

    def test_later_versions(self) -> None:
        """Of a later version the known parts are taken; it may append others, which version 00 may not."""
        self.assertEqual(decode_traceparent(f"01-{TRACE}-{SPAN}-01"), IDS)
        self.assertEqual(decode_traceparent(f"cc-{TRACE}-{SPAN}-01-what-ever"), IDS)
        self.assertIsNone(decode_traceparent(GOOD + "-what"))
        self.assertIsNone(decode_traceparent(f"cc-{TRACE}-{SPAN}-01what"))

    def test_ignored(self) -> None:
        """What is not of this form means no span, and is no error."""
        for text in (
            "", "x", GOOD[:-1], GOOD + "0", " " + GOOD, GOOD + " ", GOOD + "\n", GOOD.upper(), GOOD.replace("-", "_"),
            f"ff-{TRACE}-{SPAN}-01", f"0-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
            f"00-{TRACE[:-1]}g-{SPAN}-01", f"00-{TRACE}-{SPAN[:-1]}-001", f"00-{TRACE[1:]}-{SPAN}0-01",
            f"0\u0660-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-0\u0661",
        ):  # fmt: skip
            self.assertIsNone(decode_traceparent(text), text)

    def test_parts(self) -> None:
        """The parts of a span are numbered in its id; after 4095 the numbers begin again."""
        ids = SpanIds(5, 0xABC << PART_BITS)
        for number in (1, 2, 4095, 4097):
            part = ids.part(number)
            self.assertEqual((part.trace_id, part.span_id), (5, 0xABC000 + number % 4096))
            self.assertEqual(part_text(ids.text, number), part.text)

    def test_new_ids(self) -> None:
        """New ids are the drawn numbers with room for their parts; none is 0."""
        drawn = iter([0xABCDEF, 0, (1 << PART_BITS) - 1, (1 << 64) - 1, 1 << PART_BITS])
        found = list(islice(new_span_ids(lambda: next(drawn)), 3))
        self.assertEqual(found, [0xABC000, (1 << 64) - (1 << PART_BITS), 1 << PART_BITS])

"""The directives of DIGEST-MD5."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.sasl.directives import MAX_DIRECTIVES, quoted, read_directives
from bookkeeper_twisted.errors import CodecError

_NAMES = st.from_regex(rb"[a-z][a-z0-9-]{0,10}", fullmatch=True)


class DirectiveTests(SynchronousTestCase):
    """What is read."""

    def test_forms(self) -> None:
        """Words and quoted values, in any case, with spaces, empty places and escapes."""
        for token, values in (
            (b"", {}), (b" , ,", {}), (b"nc=00000001", {"nc": b"00000001"}), (b"QOP = auth ,", {"qop": b"auth"}),
            (b'realm="a,b=c",x=y', {"realm": b"a,b=c", "x": b"y"}), (rb'u="a\"\\\b"', {"u": rb'a"\b'}),
            (b'u="",v=\r\n "1"', {"u": b"", "v": b"1"}), (b'u="\xc3\xa4\x00"', {"u": b"\xc3\xa4\x00"}),
        ):  # fmt: skip
            self.assertEqual(read_directives(token), values)

    def test_refused(self) -> None:
        """Other tokens are refused, with a place and nothing of the token."""
        for token in (
            b"sesame", b"=sesame", b"a=", b'a="sesame', b'a="sesame\\', b'a="x"sesame', b"a=b c=sesame",
            b"a=1,A=sesame", b"a=\xff", b"\0", b"a=b" + b"," * MAX_DIRECTIVES,
        ):  # fmt: skip
            error = self.assertRaises(CodecError, read_directives, token)
            self.assertNotIn("sesame", str(error))

    @given(st.dictionaries(_NAMES, st.binary(max_size=40), max_size=8))
    def test_round_trip(self, values: dict[bytes, bytes]) -> None:
        """Whatever is quoted is read as it was."""
        token = b",".join(name + b"=" + quoted(value) for name, value in values.items())
        self.assertEqual(read_directives(token), {name.decode(): value for name, value in values.items()})

    @given(st.binary(max_size=200) | st.from_regex(rb'([a-z]{1,3} ?= ?("[^"]*"|[a-z\\"]*),?){0,6}', fullmatch=True))
    def test_any_bytes(self, token: bytes) -> None:
        """Any bytes are read or refused."""
        try:
            read_directives(token)
        except CodecError:
            pass

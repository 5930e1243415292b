"""The command ``bookkeeper-twisted token``."""

import os
import re
import stat
from pathlib import Path
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.main import main
from bookkeeper_twisted.cli.tokens import TokenWorld, run_tokens
from bookkeeper_twisted.security.token_keys import read_secrets

try:
    from ..security.signed_tokens import NOW, issued, public_pem
except ImportError:
    SKIP: str | None = "needs the extra jwt"
else:
    SKIP = None


class TokenCommandTests(SynchronousTestCase):
    """Keys and tokens in a directory."""

    skip = SKIP

    def setUp(self) -> None:
        """Makes the directory, and a terminal."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.keys, self.token = str(self.folder / "keys"), str(self.folder / "token")
        self.lines: list[str] = []
        self.complaints: list[str] = []
        self.now, self.input = NOW, ""
        self.world = TokenWorld(
            self.lines.append, self.complaints.append, lambda size: self.input[:size], lambda: self.now
        )

    def run_command(self, *arguments: str, status: int = 0) -> str:
        """Runs the command to a status; returns what it printed."""
        self.lines.clear()
        self.complaints.clear()
        self.assertEqual(run_tokens(arguments, self.world), status, self.complaints)
        self.assertEqual(len(self.complaints), 1 if status else 0)
        return "\n".join(self.lines + self.complaints)

    def create(self, *more: str, status: int = 0) -> str:
        """Makes a token for joe."""
        given = ("--key-file", self.keys, "--subject", "joe", "--lifetime", "1h")
        return self.run_command("create", *given, *more, status=status)

    def show(self, *more: str, status: int = 0) -> str:
        """Shows a token."""
        return self.run_command("show", *more, status=status)

    def mode(self, path: str) -> int:
        """The permissions of a file."""
        return stat.S_IMODE(Path(path).stat().st_mode)

    def test_round(self) -> None:
        """A key is made, then a token by it, then it is shown; both files are for their owner alone."""
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        made = self.run_command("key", "--key-file", self.keys)
        self.assertEqual(made, f"Made a key {{keyId=2023-11-14, file={self.keys}, keys=1}}")
        made = self.create("--roles", "writers, readers", "--output", self.token)
        self.assertEqual(made, "Made a token {subject=joe, expires=2023-11-14T23:13:20Z}")
        self.assertEqual((self.mode(self.keys), self.mode(self.token)), (0o600, 0o600))
        expected = (
            "The token is good {subject=joe, roles=writers,readers, key=2023-11-14, begins=2023-11-14T22:13:20Z, "
            "expires=2023-11-14T23:13:20Z, algorithm=HS256}"
        )
        self.assertEqual(self.show("--key-file", self.keys, self.token), expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["keys", "token"])
        secret = Path(self.keys).read_text().split()[1]
        self.assertNotIn(secret, made + expected)

    def test_input(self) -> None:
        """A token may be printed, and read from the standard input."""
        self.run_command("key", "--key-file", self.keys)
        self.input = self.create() + "\n"
        self.assertRegex(self.input, r"^[\w-]+\.[\w-]+\.[\w-]+\n$")
        self.assertIn("subject=joe", self.show("--key-file", self.keys, "-"))

    def test_rotation(self) -> None:
        """A further key is put at the end, and the first signs until another is named."""
        Path(self.keys).write_text("first a-secret-that-is-long-enough-to-be-one")
        Path(self.keys).chmod(0o640)
        for _ in range(2):
            self.run_command("key", "--key-file", self.keys)
        self.assertEqual(
            [key.key_id for key in read_secrets(self.keys)], ["first", "2023-11-14", "2023-11-14.2"]
        )
        self.assertEqual(self.mode(self.keys), 0o640)
        for more, key_id in (((), "first"), (("--key-id", "2023-11-14.2"), "2023-11-14.2")):
            self.create("--output", self.token, *more)
            self.assertIn(f"key={key_id},", self.show("--key-file", self.keys, self.token))
        self.assertIn("no key 'x'; it has first, ", self.create("--key-id", "x", status=255))
        self.assertIn("a key 'first' already",
                      self.run_command("key", "--key-file", self.keys, "--key-id", "first", status=255))  # fmt: skip

    def test_refused(self) -> None:
        """A token that a bookie would refuse is shown with the reason and status 1, and never made."""
        self.run_command("key", "--key-file", self.keys)
        self.create("--output", self.token, "--audience", "here")
        self.assertEqual(self.show("--key-file", self.keys, self.token, status=1), "the token is for another audience")
        self.show("--key-file", self.keys, "--audience", "here", self.token)
        self.create("--output", self.token)
        reason = self.show("--key-file", self.keys, "--audience", "here", self.token, status=1)
        self.assertIn("the token names no audience", reason)
        self.create("--output", self.token, "--audience", "here")
        self.now += 3605
        self.assertEqual(
            self.show("--key-file", self.keys, "--audience", "here", self.token, status=1), "the token has expired"
        )
        self.assertIn("names no subject", self.create("--subject", "a\nb", status=1))
        self.assertIn("has a role that cannot be a name", self.create("--roles", "a\x1bb", status=1))

    def test_issuer(self) -> None:
        """Tokens of an issuer are shown, too."""
        public, self.input = str(self.folder / "public.pem"), issued("ES256")
        Path(public).write_bytes(public_pem("ES256"))
        given = ("--public-key", public, "--issuer", "https://issuer", "--audience", "cluster")
        self.assertIn("issuer=https://issuer, algorithm=ES256", self.show(*given, "-"))
        self.assertIn("tokenIssuer", self.show("--public-key", public, "-", status=255))

    def test_mistakes(self) -> None:
        """Files that are missing or wrong are named."""
        self.assertIn("No such file", self.create(status=255))
        self.assertIn("has to be given", self.show("/dev/null", status=255))
        self.assertIn("none: No such file", self.show("--key-file", self.keys, "none", status=255))
        Path(self.keys).write_text("nonsense\n")
        for command in ("key", "create"):
            more = ("--subject", "joe", "--lifetime", "1d") if command == "create" else ()
            complaint = self.run_command(command, "--key-file", self.keys, *more, status=255)
            self.assertIn("line 1 is not KEYID SECRET", complaint)
        self.assertEqual(Path(self.keys).read_text(), "nonsense\n")
        Path(self.keys).unlink()
        self.run_command("key", "--key-file", self.keys)
        self.assertIn("No such file", self.create("--output", str(self.folder / "none" / "token"), status=255))

    def test_arguments(self) -> None:
        """Wrong arguments end with a usage line and status 2."""
        for arguments in ([], ["x"], ["create"], ["key"], ["show"], ["create", "--key-file", "k", "--subject", "s",
                          "--lifetime", "0d"]):  # fmt: skip
            errors: Any = self.patched_errors()
            self.assertEqual(self.assertRaises(SystemExit, run_tokens, arguments).code, 2)
            self.assertRegex("".join(errors.texts), "^usage: bookkeeper-twisted token")

    def patched_errors(self) -> object:
        """Replaces the error output."""
        errors = _Errors()
        self.patch(__import__("sys"), "stderr", errors)
        return errors

    def test_program(self) -> None:
        """The program passes what follows ``token`` on, with real chance and the real clock."""
        for _ in range(2):
            self.assertEqual(self.assertRaises(SystemExit, main, ["token", "key", "--key-file", self.keys]).code, 0)
        first, second = read_secrets(self.keys)
        self.assertNotEqual(first.material, second.material)
        self.assertTrue(re.fullmatch("[A-Za-z0-9_-]{43}", first.material.decode()))


@attrs.define
class _Errors:
    texts: list[str] = attrs.field(factory=list)

    def write(self, text: str) -> None:
        self.texts.append(text)

    def flush(self) -> None:
        pass

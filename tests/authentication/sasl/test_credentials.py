"""JAAS files that cannot be used, and files that change while the process runs."""

import os
from typing import Any

from twisted.logger import LogEvent, Logger, formatEvent

from bookkeeper_twisted.authentication.sasl.credentials import MAX_FILE
from bookkeeper_twisted.authentication.sasl.sides import SaslBookie, SaslClient
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security import files
from bookkeeper_twisted.security.files import REFRESH_SECONDS

from .sasl_case import BOOKIE, CLIENT, JAAS, LOGIN, SaslCase


class _LoggedCase(SaslCase):
    """What is logged."""

    def setUp(self) -> None:
        super().setUp()
        self.events: list[LogEvent] = []
        self.patch(files, "_log", Logger(observer=self.events.append))  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """The level and the begin of each line that has been logged since the last call; no line has a password."""
        found = [(event["log_level"].name, formatEvent(event)) for event in self.events]
        self.events.clear()
        for _, text in found:
            self.assertNotRegex(text, "sesame|walnut|melon")
        return [f"{level} {text}" for level, text in found]


class FileTests(_LoggedCase):
    """Files that cannot be used."""

    def unmade(self, **more: Any) -> str:
        """Why both sides cannot be made."""
        errors = [
            str(self.assertRaises(ConfigError, side, self.config(**more), self.world))
            for side in (SaslBookie, SaslClient)
        ]
        self.assertNotRegex(errors[0], "sesame|walnut|melon")
        self.assertEqual(errors[0].replace("Bookie'", "BookKeeper'"), errors[1])
        return errors[0]

    def test_absent(self) -> None:
        """A file that is not named, is not there or cannot be named."""
        self.assertEqual(self.unmade(sasl_jaas_config=""), "saslJaasConfig is not set: it has to name a JAAS file")
        self.assertEqual(
            self.unmade(sasl_jaas_config="/no/file"), "saslJaasConfig = '/no/file': No such file or directory"
        )
        self.assertIn("it is no path of a file", self.unmade(sasl_jaas_config="a\0b"))

    def test_other_files(self) -> None:
        """A directory, a pipe that nobody writes to, a device, and a file without end."""
        pipe = f"{self.path}.pipe"
        os.mkfifo(pipe)
        for path in (str(self.path.parent), pipe, "/dev/zero"):
            self.assertIn("it is not a regular file", self.unmade(sasl_jaas_config=path))
        self.write(JAAS + " " * MAX_FILE)
        self.assertIn(f"it has more than {MAX_FILE} bytes", self.unmade())
        self.write(JAAS + " " * (MAX_FILE - len(JAAS)))
        SaslBookie(self.config(), self.world)

    def test_bytes(self) -> None:
        """A file that is not UTF-8 is refused."""
        self.path.write_bytes(b"\n\nsesame\xff")
        self.assertIn(": it is not UTF-8", self.unmade())

    def test_section(self) -> None:
        """A section that is not there, and the names of those that are."""
        self.write(f'A {{ {LOGIN} user_a="sesame"; }};\nB {{ }};')
        reason = f"saslJaasConfig = '{self.path}': it has no section 'Bookie'; its sections: 'A', 'B'"
        self.assertEqual(self.unmade(), reason)
        self.write("")
        self.assertIn("its sections: none", self.unmade())

    def test_mistake(self) -> None:
        """A mistake in the file has path and line."""
        self.write(f"\nBookie {{ {LOGIN} user_a=sesame")
        reason = f"saslJaasConfig = '{self.path}': line 2: expected an option, or ; after the last one"
        self.assertEqual(self.unmade(), reason)

    def test_readable_by_all(self) -> None:
        """A file that everybody can read is one line of the log at the start, and none when it is read again."""
        self.write(JAAS, 0o604)
        side = SaslBookie(self.config(), self.world)
        (line,) = self.lines()
        self.assertRegex(line, "^warn saslJaasConfig = .*: every user of this machine can read the file")
        self.write(JAAS + " ", 0o644)
        self.clock.advance(REFRESH_SECONDS)
        side.bookie_exchange(CLIENT)
        self.assertEqual(len(self.lines()), 1)
        self.write(JAAS, 0o640)
        SaslBookie(self.config(), self.world)
        self.assertEqual(self.lines(), [])


class ChangeTests(_LoggedCase):
    """Files that change."""

    def setUp(self) -> None:
        super().setUp()
        self.side: Any = SaslBookie(self.config(), self.world)
        self.other: Any = SaslClient(self.config(), self.world)

    def admitted(self) -> bool:
        """Whether the client's side is admitted by the bookie's."""
        bookie, client = self.side.bookie_exchange(CLIENT), self.other.client_exchange(BOOKIE)
        answer = self.token(client, self.token(bookie, self.token(client, None)))
        done: list[Any] = []
        bookie.next_token(answer).addCallbacks(done.append, lambda _: None)
        return bool(done)

    def test_exchanged(self) -> None:
        """New users are those of new connections, once the file was looked at, on both sides."""
        exchange = self.side.bookie_exchange(CLIENT)
        self.write(JAAS.replace("sesame", "melon"))
        self.clock.advance(REFRESH_SECONDS - 0.1)
        self.assertTrue(self.admitted())
        self.clock.advance(0.1)
        old = self.client()  # has the new password already
        self.assertEqual(self.lines(), [])
        self.assertTrue(self.admitted())
        self.assertEqual(
            self.lines(),
            [f"info the users of {self.path} have changed: the new ones are in use"] * 2,
        )
        challenge = self.token(exchange, b"")
        self.token(old, None)
        self.refused(exchange, self.token(old, challenge))

    def test_one_side(self) -> None:
        """A password that only the bookie has changed ends the admission, until the client has it, too."""
        copy = self.path.with_suffix(".copy")
        copy.write_text(JAAS)
        self.other = SaslClient(self.config(sasl_jaas_config=str(copy)), self.world)
        self.write(JAAS.replace("sesame", "melon"))
        self.clock.advance(REFRESH_SECONDS)
        self.assertFalse(self.admitted())

    def test_broken(self) -> None:
        """A file that cannot be used leaves the users as they are, and is one line of the log."""
        for text in ("Bookie { sesame", "", f"Bookie {{ {LOGIN}; }};"):
            self.write(text)
            for _ in range(3):
                self.clock.advance(REFRESH_SECONDS)
                self.side.bookie_exchange(CLIENT)
            lines = self.lines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(f"error the users of {self.path} have changed and cannot be used", lines[0])
        self.path.unlink()
        self.clock.advance(REFRESH_SECONDS)
        self.assertTrue(self.admitted())
        self.assertEqual(len(self.lines()), 2)
        self.write(JAAS)
        self.clock.advance(REFRESH_SECONDS)
        self.assertTrue(self.admitted())
        self.assertEqual([line.partition(" ")[0] for line in self.lines()], ["info"] * 2)

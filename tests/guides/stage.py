"""A directory with the files and processes that a guide speaks of."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ..first_hour.documents import blocks, commands, sections
from ..first_hour.reader import Reader, Unexpected, free_port

ROOT = Path(__file__).parents[2]
START = "twistd -n --pidfile= bookie --conf bk_server.conf"
"""How the guides start the bookie whose file it is."""
OURS = "b1"
"""The id of the bookie whose file is ``bk_server.conf``."""
_CONFIGURATION = {
    "bookieId": OURS, "bookiePort": "0", "listeningInterface": "127.0.0.1", "advertisedAddress": "127.0.0.1",
    "allowLoopback": "true", "metadataServiceUri": "sqlite:///others/metadata.db", "journalDirectories": "journal",
    "ledgerDirectories": "ledgers", "journalPreAllocSizeMB": "1", "journalMaxSizeMB": "4",
}  # fmt: skip
_IS_OURS = "bookie --conf bk_server.conf"
"""Part of the commands that start the bookie whose file it is."""
_OTHERS = (
    "twistd -n --pidfile= bookie --standalone 3 --data others --bookiePort=0 --listeningInterface=127.0.0.1"
    " --autoRecoveryDaemonEnabled=false"
)


class Practice:
    """A cluster to practise with: ``bk_server.conf`` of a bookie ``b1``, and three bookies in another process.

    :ivar directory: in which commands are run; the files of the bookie are in ``journal`` and ``ledgers``.
    :ivar said: the text that the last refused command printed.
    """

    def __init__(self, directory: Path, **keys: str) -> None:
        """Make the directory and the file.

        :param keys: keys of ``bk_server.conf`` in the place of, or beside, the usual ones.
        """
        directory.mkdir(parents=True)
        self.directory = directory
        environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8",
            "HOME": os.environ.get("HOME", str(directory)), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self.reader = Reader(directory, environ)
        self.http_port = str(free_port(free_port() + 40))
        self.said = ""
        self.configure(**keys)

    def configure(self, **keys: str) -> None:
        """Write ``bk_server.conf`` anew."""
        self.keys = {**_CONFIGURATION, "httpServerPort": self.http_port, **keys}
        (self.directory / "bk_server.conf").write_text("".join(f"{key}={text}\n" for key, text in self.keys.items()))

    def start_others(self, options: str = "") -> None:
        """Start the three other bookies.

        :param options: further ones of the command line.
        """
        self.reader.serve(f"{_OTHERS} {options}")

    def follow(self, page: str, title: str, words: Mapping[str, str] | None = None, block: int | None = None) -> None:
        """Do what a section of a page says, or one of its blocks.

        :param words: what to type in the place of some words, which are regular expressions.
        :raises Unexpected: a command failed, or printed something else than the page shows.
        """
        text = sections((ROOT / page).read_text())[title]
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.http_port}")
        for word, typed in (words or {}).items():
            text, count = re.subn(word, typed, text)
            assert count, f"no {word} in {title}"
        found = [each for each in blocks(text) if each.is_run]
        assert found, f"no commands in {title}"
        for each in found if block is None else [found[block]]:
            self.reader.do(each)

    def refused(self, command: str, reason: str) -> None:
        """Run a server that has to refuse, with a reason that the guides quote.

        :raises Unexpected: it serves, or says something else.
        """
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.directory, env=self.reader.environ, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip
        self.said = done.stdout + done.stderr
        if done.returncode != 1 or reason not in self.said:
            raise Unexpected(f"status {done.returncode}, and not {reason!r}, of {command}:\n{self.said}")

    def run(self, command: str) -> str:
        """Run a command; return what it prints.

        :raises Unexpected: it failed.
        """
        return self.reader.run(command)

    def shell(self, command: str) -> str:
        """Run a command of the shell."""
        return self.run(f"bookkeeper-twisted shell -conf bk_server.conf {command}")

    def wait(self, words: str) -> None:
        """Wait until the bookie that ``bk_server.conf`` is of has printed some words.

        :raises Unexpected: it has ended, or has not within the patience of a reader.
        """
        (server,) = (server for text, server in self.reader.servers.items() if _IS_OURS in text)
        server.wait(re.compile(re.escape(words)))

    def stop(self, number: int = 15) -> None:
        """End the bookie that ``bk_server.conf`` is of, if it runs."""
        for text in [text for text in self.reader.servers if _IS_OURS in text]:
            self.reader.servers.pop(text).end(number)

    def write(self, count: int, copies: int = 3, size: int = 0) -> list[int]:
        """Write so many ledgers of 100 entries, each on ``copies`` bookies; return their ids.

        :param size: bytes of an entry; with the default it is as long as its text, and :meth:`check` knows it.
        """
        return [int(each) for each in self._entries("write", count, copies, size).split()]

    def check(self, ledgers: list[int]) -> None:
        """Read ledgers that :meth:`write` wrote.

        :raises Unexpected: an entry is missing, or is another one.
        """
        self._entries("check", *ledgers)

    def named(self) -> list[int]:
        """The ledgers whose metadata name the bookie ``b1``."""
        return [int(each) for each in re.findall(r"^ledger (\d+) :", self.shell(f"recover -q {OURS}"), re.M)]

    def _entries(self, *arguments: object) -> str:
        words = " ".join(map(str, arguments))
        return self.run(f"python -m tests.guides.entries {self.keys['metadataServiceUri']} {words}")

    def end(self) -> None:
        """End what runs, and remove the directory."""
        for text in list(self.reader.servers):
            self.reader.servers.pop(text).end(9)
        shutil.rmtree(self.directory, ignore_errors=True)


def typed(page: str) -> Mapping[str, list[str]]:
    """The commands of a page that a test has to run, by the titles of sections; those without commands are left out."""
    found = {
        title: [command.text for block in blocks(text) if block.is_run for command in commands(block.text)]
        for title, text in sections((ROOT / page).read_text()).items()
    }
    return {title: texts for title, texts in found.items() if texts}

"""Does what a page says, as somebody does who reads it: types commands, saves programs, leaves servers running."""

import os
import re
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from .documents import Block, Command, blocks, commands, fits

READY = re.compile(r"ready: ")
PATIENCE = 60.0
"""Seconds for a server to serve, or to end."""


class Unexpected(Exception):
    """Something did not go as the page says."""


class Server:
    """A process in the background, with what it has printed."""

    def __init__(self, command: str, directory: Path, environ: Mapping[str, str]) -> None:
        self.command = command
        self.output = ""
        # exec: signals are for the program and not for a shell around it
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=directory, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def wait(self, pattern: re.Pattern[str] = READY) -> None:
        """Wait until it has printed something; by default, that it serves.

        :raises Unexpected: it ended.
        """
        assert self._process.stdout is not None
        until = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not pattern.search(self.output):
                if not selector.select(max(0.0, until - time.monotonic())):
                    self.end(signal.SIGKILL)
                    raise Unexpected(f"no {pattern.pattern!r} within {PATIENCE:g} s: {self.command}\n{self.output}")
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                self.output += data.decode()
                if not data:
                    status = self.end(signal.SIGKILL)
                    raise Unexpected(f"ended with status {status}: {self.command}\n{self.output}")

    def send(self, number: int) -> None:
        """Send a signal that is not to end it."""
        self._process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; return the status, negative for a signal."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            rest, _ = self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            rest, _ = self._process.communicate()
        self.output += rest.decode()
        return self._process.returncode


class Reader:
    """Follows pages in one directory.

    :ivar environ: of all commands.
    :ivar servers: what was left running.
    """

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self.directory = directory
        self.environ = dict(environ)
        self.servers: dict[str, Server] = {}

    def follow(self, page: str) -> int:
        """Do everything a page says; return how many commands that were.

        :raises Unexpected: a command failed, or printed something else than the page shows.
        """
        count = 0
        for block in blocks(page):
            count += self.do(block)
        return count

    def do(self, block: Block) -> int:
        """Do what one block says; return how many commands it has."""
        if block.caption and block.language != "console":
            (self.directory / block.caption).write_text(block.text)
            return 0
        if not block.is_run:
            return 0
        found = list(commands(block.text))
        for command in found:
            self.type(command)
        return len(found)

    def type(self, command: Command) -> None:
        """Run one command; a server stays in the background, and is killed first if it runs already."""
        text = command.text
        if text.startswith("twistd -n"):
            if text in self.servers:
                self.servers.pop(text).end(signal.SIGKILL)
            self.serve(text)
        elif text.startswith("export "):
            name, _, value = text.removeprefix("export ").partition("=")
            self.environ[name] = value
        elif text == ". venv/bin/activate":
            self.environ["PATH"] = f"{self.directory}/venv/bin:{self.environ['PATH']}"
        else:
            printed = self.run(text)
            if command.expected is not None and not fits(command.expected, printed):
                shown = "\n".join(command.expected)
                raise Unexpected(f"$ {text}\nprinted\n{printed}\nand not\n{shown}")

    def serve(self, text: str) -> Server:
        """Start a server and wait until it serves."""
        server = Server(text, self.directory, {**self.environ, "BK_bookiePort": str(free_port())})
        self.servers[text] = server
        server.wait()
        return server

    def run(self, text: str) -> str:
        """Run a command to its end; return what it printed.

        :raises Unexpected: it failed.
        """
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.directory, env=self.environ, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=900,
        )  # fmt: skip
        if done.returncode:
            raise Unexpected(f"$ {text}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def leave(self) -> None:
        """Stop what runs.

        :raises Unexpected: a server did not end well.
        """
        while self.servers:
            text, server = self.servers.popitem()
            status = server.end()
            if status:
                raise Unexpected(f"status {status} after SIGTERM: {text}\n{server.output}")


def free_port(above: int = 0) -> int:
    """A port above another that nobody listens on now, below those that the system gives out by itself."""
    # Processes that run tests side by side have neighbouring ids, and must not find the same ports.
    for port in range(max(above + 1, 20_000 + os.getpid() * 97 % 9_000), 32_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Unexpected("no port is free")

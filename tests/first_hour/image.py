"""Follows a Dockerfile without Docker: in a view of this machine whose changes are kept in memory and go with it.

The root of the image is an overlay over the root of this machine; its Python, in the place of that of the base image,
is a new virtual environment.  Needs the right to mount.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

_PYTHON = "/image"
_ROOT = """
set -e
mount -t tmpfs none {place} && mkdir {place}/changes {place}/work {place}/root
mount -t overlay overlay -o lowerdir=/,upperdir={place}/changes,workdir={place}/work {place}/root
mount --rbind /dev {place}/root/dev
mount -t proc proc {place}/root/proc
chmod a+rx {parents}
chroot {place}/root {python} -m venv {image}
"""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile with their arguments, in order."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


@attrs.define
class Image:
    """What a Dockerfile makes.

    :ivar place: an empty directory.
    :ivar source: what it is built from.
    :ivar environ: of commands, besides what the Dockerfile sets.
    """

    place: Path
    source: Path
    environ: Mapping[str, str]
    user: str = "root"
    directory: str = "/"
    settings: dict[str, str] = attrs.field(factory=dict)
    entry_point: list[str] = attrs.field(factory=list)
    volume: str = ""
    health_check: list[str] = attrs.field(factory=list)
    _holder: "subprocess.Popen[bytes] | None" = None

    def possible(self) -> bool:
        """Whether this process may mount such a root, which is there from then on."""
        self.place.mkdir(parents=True)
        self._holder = subprocess.Popen(["unshare", "--mount", "bash", "-c", "echo; exec sleep infinity"], stdout=-1)
        assert self._holder.stdout is not None
        prefix = Path(sys.base_prefix)
        script = _ROOT.format(
            place=self.place, python=f"{prefix}/bin/python3", image=_PYTHON,
            parents=" ".join(f"{self.place}/root{path}" for path in (prefix, *prefix.parents)),
        )  # fmt: skip
        inside = bool(self._holder.stdout.readline())  # of its namespace: nothing of this machine is mounted over
        return inside and not subprocess.run(self._enter("bash", "-c", script), capture_output=True).returncode

    def build(self, dockerfile: str) -> str:
        """Do what the instructions say; return what went wrong, empty if nothing did."""
        for word, text in instructions(dockerfile):
            done = ""
            if word == "COPY":
                done = self._run("cp", "--recursive", str(self.source), f"{self.place}/root{text.split()[1]}")
            elif word == "RUN":
                done = self._do(text)
            elif word in ("ARG", "ENV", "USER", "WORKDIR", "VOLUME", "HEALTHCHECK", "ENTRYPOINT"):
                self._set(word, text)
            elif word not in ("FROM", "EXPOSE"):
                done = "an instruction that is not known here"
            if done:
                return f"{word} {text}\n{done}"
        return ""

    def _do(self, text: str) -> str:
        """Run a command, with the source where it is mounted for this command alone."""
        mounted = re.match(r"--mount=type=bind,target=(\S+),rw (.*)", text)
        if mounted is None:
            return self._run(*self._command("bash", "-c", text))
        place = f"{self.place}/root{mounted[1]}"
        done = self._run("cp", "--recursive", str(self.source), place)
        return done or self._run(*self._command("bash", "-c", mounted[2])) or self._run("rm", "--recursive", place)

    def _set(self, word: str, text: str) -> None:
        if word in ("ARG", "ENV"):
            for part in shlex.split(text):
                name, _, value = part.partition("=")
                self.settings[name] = value
        elif word == "USER":
            self.user = text
        elif word == "WORKDIR":
            self.directory = text
        elif word == "VOLUME":
            self.volume = text
        elif word == "HEALTHCHECK":
            self.health_check = json.loads(text.partition(" CMD ")[2])
        else:
            self.entry_point = json.loads(text)

    def run_command(self, *options: str, **settings: str) -> str:
        """The command line of a container: its first process is the entry point."""
        command = self._command(*self.entry_point, *options, **settings)
        return shlex.join(self._enter("unshare", "--fork", "--kill-child", "--pid", *command))

    def health_command(self, **settings: str) -> str:
        """The command line of the health check of a container that has these settings."""
        return shlex.join(self._enter(*self._command(*self.health_check, **settings)))

    def read(self, path: str) -> str:
        """The path, from outside, of something in the image while it is there."""
        return f"/proc/{self._pid}/root{self.place}/root{path}"

    def remove(self) -> None:
        """Take everything away."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.communicate()

    @property
    def _pid(self) -> int:
        assert self._holder is not None
        return self._holder.pid

    def _enter(self, *command: str) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self._pid}/ns/mnt", *command]

    def _command(self, *command: str, **settings: str) -> list[str]:
        values = {**self.settings, **settings, "PATH": f"{_PYTHON}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        inside = f"cd {self.directory} && exec {shlex.join(command)}"
        # The kernel forgets at a change of the user that a process is to end with its parent.
        change = ["chroot", f"--userspec={self.user}", f"{self.place}/root", "setpriv", "--pdeathsig=KILL"]
        return [*change, "env", *(f"{name}={value}" for name, value in values.items()), "bash", "-c", inside]

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            self._enter(*command), env=self.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return f"{done.stdout}status {done.returncode}" if done.returncode else ""

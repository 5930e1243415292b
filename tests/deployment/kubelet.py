"""What a kubelet does with the pods of a workload, as far as their processes see it.

The pods are processes of this machine: their commands, environments, probes and hooks are those of the rendered chart.
Pods of one machine share its addresses and have no volumes, so ports, address and directories are replaced.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from .chart import ROOT, container_of, pod_of

_PROGRAMS = str(Path(sys.executable).parent)


@attrs.define
class Pod:
    """A pod of a workload.

    :ivar name: its name, by which it finds its identity.
    :ivar replaced: keys of its configuration that are others here.
    :ivar log: the file for its output.
    """

    workload: Mapping[str, Any]
    name: str
    replaced: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def container(self) -> Mapping[str, Any]:
        return container_of(self.workload)

    def environ(self) -> dict[str, str]:
        """The environment of its container: values may name variables that come before them."""
        found = {"POD_NAME": self.name}
        for each in self.container["env"]:
            value = each.get("value", found.get(each["name"], ""))
            found[each["name"]] = value.replace("$(POD_NAME)", self.name)
        path = {"PATH": f"{_PROGRAMS}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        return {**path, **found, **{f"BK_{key}": value for key, value in self.replaced.items()}}

    def start(self) -> None:
        """Start its process."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.container["command"], env=self.environ(), cwd=self.log.parent, stdout=output, stderr=output
            )

    def run(self, command: Sequence[str], timeout: float) -> "subprocess.CompletedProcess[str]":
        """Run a command in its container."""
        return subprocess.run(
            command, env=self.environ(), cwd=self.log.parent, capture_output=True, text=True, timeout=timeout
        )

    def until(self, name: str) -> str:
        """Run one of its probes until it succeeds; return what it has printed then.

        :raises AssertionError: its process has ended.
        """
        assert self.process is not None
        probe = self.container[f"{name}Probe"]
        while self.process.poll() is None:
            try:
                done = self.run(probe["exec"]["command"], probe["timeoutSeconds"])
            except subprocess.TimeoutExpired:
                continue  # a failure, as for a kubelet
            if not done.returncode:
                return done.stdout
        raise AssertionError(f"{self.name} has ended:\n{self.log.read_text()}")

    def until_ready(self) -> str:
        """Run its probes as they follow each other; return what its readiness probe has printed."""
        self.until("startup")
        self.until("liveness")
        return self.until("readiness")

    def stop(self) -> int:
        """Run its hook, then send SIGTERM; return the status, which is that of SIGKILL if it takes too long."""
        assert self.process is not None
        if "lifecycle" in self.container:
            done = self.run(self.container["lifecycle"]["preStop"]["exec"]["command"], 30)
            assert not done.returncode, done
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(pod_of(self.workload)["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End its process at once, unless it has ended."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()


def run_job(
    job: Mapping[str, Any], replaced: Mapping[str, str], **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run the container of a job, with other values of some keys and variables."""
    pod = Pod(job, job["metadata"]["name"], replaced, Path("job.log").absolute())
    container = pod.container
    command = [*container["command"], *container["args"]]
    return subprocess.run(
        command, env={**pod.environ(), **variables}, cwd=pod.log.parent, capture_output=True, text=True, timeout=300
    )

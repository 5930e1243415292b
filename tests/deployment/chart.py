"""The chart, and what Helm makes of it."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SkipTest

ROOT = Path(__file__).parents[2]
CHART = ROOT / "contrib" / "helm" / "bookkeeper-twisted"
RENDERED = Path(__file__).parent / "rendered.json"
NAME = "bk-bookkeeper-twisted"
VALUES: Mapping[str, Any] = {
    "metadataServiceUri": "zk+hierarchical://zk-0.zk:2181/ledgers", "podMonitor": {"enabled": True},
    "rack": {"label": "topology.kubernetes.io/zone"},
}  # fmt: skip

Objects = Sequence[Mapping[str, Any]]


def digest() -> str:
    """A digest of the files of the chart with their names."""
    found = hashlib.sha256()
    for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(CHART)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def helm(*arguments: str, values: Mapping[str, Any] = VALUES) -> "subprocess.CompletedProcess[str]":
    """Run Helm on the chart, with values.

    :raises SkipTest: there is no Helm.
    """
    program = shutil.which(os.environ.get("HELM", "helm"))
    if program is None:
        raise SkipTest("Helm is not installed: go install helm.sh/helm/v3/cmd/helm@latest, or HELM=path")
    given = ["--kube-version", "1.34.0", "--namespace", "logs", "--values", "-"]
    command = [program, *arguments, str(CHART), *(given if arguments[0] == "template" else given[2:])]
    return subprocess.run(command, input=json.dumps(values), capture_output=True, text=True)


def rendered_by_helm(values: Mapping[str, Any] = VALUES) -> Objects:
    """The objects that Helm makes of the chart, in its order.

    :raises SkipTest: there is no Helm, or nothing that reads YAML.
    """
    done = helm("template", "bk", values=values)
    if importlib.util.find_spec("yaml") is None:
        raise SkipTest("PyYAML is not installed (extra dev)")
    import yaml

    if done.returncode:
        raise AssertionError(done.stderr)
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def rendered() -> Objects:
    """The objects of ``rendered.json``."""
    objects: Objects = json.loads(RENDERED.read_text())["objects"]
    return objects


def the(kind: str, suffix: str = "", objects: Objects | None = None) -> Mapping[str, Any]:
    """The object of a kind whose name ends like that."""
    (found,) = (
        each for each in (rendered() if objects is None else objects)
        if each["kind"] == kind and each["metadata"]["name"].endswith(suffix)
    )  # fmt: skip
    return found


def pod_of(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The specification of the pods that an object makes."""
    pod: Mapping[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def container_of(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The container of the pods that an object makes."""
    (found,) = pod_of(workload)["containers"]
    container: Mapping[str, Any] = found
    return container

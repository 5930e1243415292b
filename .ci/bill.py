"""Writes the bill of materials of a wheel: what it needs, with versions and licenses, as CycloneDX in JSON.

``python .ci/bill.py DIRECTORY``.  The wheel of the directory is installed into an environment of its own, with the
extras of those who run it and the versions of ``constraints.txt``, and ``cyclonedx-py`` lists what is there.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from distribution import epoch

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
EXTRAS = ("zookeeper", "tls", "jwt", "rocksdb", "tools", "arrow", "otel")
"""Without those of developers, and without PySpark, of which a Spark cluster has its own."""


def metadata_of(wheel: Path) -> Message:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def requirements(metadata: Message, extras: Sequence[str] = EXTRAS) -> list[str]:
    """Return what a package needs, for some of its extras as well."""
    found = []
    for each in metadata.get_all("Requires-Dist", []):
        requirement, _, condition = each.partition(";")
        extra = re.search(r"""extra == ["'](\S+)["']""", condition)
        if extra is None or extra[1] in extras:
            found.append(requirement.strip())
    return found


def root(metadata: Message) -> str:
    """Return a ``pyproject.toml`` of a package, from which ``cyclonedx-py`` takes the root of the bill."""
    fields = {"name": metadata["Name"], "version": metadata["Version"], "license": metadata["License-Expression"],
              "dependencies": requirements(metadata)}  # fmt: skip
    return "[project]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


def missing(bill: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    """Return the requirements that a bill does not name, or on which it does not say that the package depends."""
    depends = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    direct = set(depends[bill["metadata"]["component"]["bom-ref"]])
    named = {_canonical(each["name"]) for each in bill["components"] if each["bom-ref"] in direct}
    return [each for each in wanted if _canonical(re.split(r"[^\w.-]", each)[0]) not in named]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(directory: str) -> int:
    """Write the bill into the directory; return the exit status."""
    (wheel,) = Path(directory).glob("*.whl")
    metadata = metadata_of(wheel)
    written = wheel.with_name("-".join(wheel.name.split("-")[:2]) + ".cdx.json")
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(Path(scratch, "needs"), symlinks=True)
        python, project = Path(scratch, "needs", "bin", "python"), Path(scratch, "pyproject.toml")
        project.write_text(root(metadata))
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python)]
        subprocess.run([*pip, "install", "--constraint", str(CONSTRAINTS), f"{wheel}[{','.join(EXTRAS)}]"], check=True)
        tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "library"]
        environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch())}
        subprocess.run([*tool, "--pyproject", str(project), "--output-file", str(written), str(python)], check=True,
                       env=environ)  # fmt: skip
    bill = json.loads(written.read_text())
    left_out = missing(bill, requirements(metadata))
    if left_out:
        print(f"{written} does not name {', '.join(left_out)}", file=sys.stderr)
        return 1
    print(f"{written}: {len(bill['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

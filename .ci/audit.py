"""Says which versions have known vulnerabilities; where nobody can be asked, says that in one line.

``python .ci/audit.py COMMAND...``: the command is pip-audit's, which prints JSON.  The status is 1 if a vulnerability
is known, and 0 also where the advisories cannot be reached: nothing is wrong with the tree then.
"""

import json
import re
import subprocess
import sys
from typing import Any

_UNREACHED = re.compile("connect|proxy|time.?out|timed out|resol|ssl|http", re.IGNORECASE)
"""How the last line of an error reads if there is no network."""


def vulnerabilities(report: dict[str, Any]) -> list[str]:
    """Return a line for each vulnerability of a report."""
    lines = []
    for library in report["dependencies"]:
        for each in library.get("vulns", []):
            mended = ", ".join(each["fix_versions"]) or "no version"
            lines.append(f"{library['name']} {library['version']}: {each['id']}, mended in {mended}")
    return lines


def main(*command: str) -> int:
    """Run the command; return the exit status."""
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        if not _UNREACHED.search(reason):
            print(f"{done.stdout}{done.stderr}audit failed", file=sys.stderr)
            return done.returncode or 1
        print(f"audit skipped: the advisories cannot be reached ({reason[:100]})")
        return 0
    asked = [each for each in report["dependencies"] if "skip_reason" not in each]
    if not asked:
        print("audit skipped: the package index here has no advisories")
        return 0
    lines = vulnerabilities(report)
    print("\n".join([*lines, f"{len(asked)} of {len(report['dependencies'])} versions looked up, "
                             f"{len(lines) or 'no'} known vulnerabilities"]))  # fmt: skip
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

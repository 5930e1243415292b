"""Runs a command whose output is long: all of it goes to a file, and lines that say how far it is are printed.

``python .ci/logged.py LOG PATTERN COMMAND...`` prints what PATTERN matches at the start of a line.  If the command
fails, the last lines of its output and the name of the file follow, and its status is that of this program.
"""

import re
import subprocess
import sys
from pathlib import Path

WIDTH = 100
LAST = 15


def main(log: str, pattern: str, *command: str) -> int:
    """Run the command; return its status."""
    lines: list[str] = []
    with (
        Path(log).open("w") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            lines.append(line)
            if re.match(pattern, line):
                text = line.rstrip()
                print("  " + (text if len(text) <= WIDTH else f"{text[:WIDTH]}..."), flush=True)
    if process.returncode:
        print("".join(lines[-LAST:]) + f"failed; all output is in {log}", file=sys.stderr)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

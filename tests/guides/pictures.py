"""``python -m tests.guides.pictures``, as ``make pictures``: take the pictures of the console that the guides show.

``tests.integration.test_console`` visits the console of a cluster that was broken on purpose, in a headless Chromium,
and leaves a picture of each page; the guides have some of them, as small files.
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from ..integration.test_console import browser

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "docs" / "_static" / "console"
NAMES = ("overview", "ledger", "entry")
QUALITY = 60
_TEST = "tests.integration.test_console"


def main() -> int:
    """Take the pictures; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as directory:
        command = [sys.executable, "-m", "twisted.trial", "--temp-directory", f"{directory}/trial", _TEST]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        taken = Path(directory, "trial", "console-screenshots")
        if done.returncode or not taken.exists():
            print(done.stdout + done.stderr, file=sys.stderr)
            return 1
        SHOWN.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (SHOWN / f"{name}.webp").write_bytes(_small(taken / f"{name}.png"))
    return 0


def _small(picture: Path) -> bytes:
    """Return a picture as WebP, which the browser makes of it."""
    driver = browser()
    try:
        driver.get(picture.as_uri())
        size = driver.execute_script("const p = document.images[0]; return [p.naturalWidth, p.naturalHeight]")
        area = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        driver.execute_script("document.body.style.margin = 0; document.images[0].style = 'display: block'")
        options = {"format": "webp", "quality": QUALITY, "clip": area, "captureBeyondViewport": True}
        taken = driver.execute_cdp_cmd("Page.captureScreenshot", options)
        return base64.b64decode(taken["data"])
    finally:
        driver.quit()


if __name__ == "__main__":
    sys.exit(main())

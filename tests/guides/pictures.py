"""``python -m tests.guides.pictures``, as ``make pictures``: take the pictures of the console that the guides show.

``tests.integration.test_console`` visits the console of a cluster that was broken on purpose, in a headless Chromium,
and leaves a picture of each page; the guides have some of them, as small files.
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.shared.browser import browser

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "docs" / "_static" / "console"
NAMES = ("overview", "ledger", "entry")
QUALITY = 0.6
MARGIN = 24
"""Empty rows of pixels that stay at the end."""
_MAKE_SMALL = f"""
const [source, quality, done] = arguments;
const image = new Image();
image.onload = () => {{
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, image.width, image.height).data.buffer);
  const last = pixels.findLastIndex(pixel => pixel !== pixels[pixels.length - 1]);
  canvas.height = Math.min(image.height, Math.floor(last / image.width) + {MARGIN});
  canvas.getContext('2d').drawImage(image, 0, 0);
  done(canvas.toDataURL('image/webp', quality));
}};
image.src = source;
"""
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
    """Return a picture as WebP, without the empty rows at its end; the browser makes it."""
    driver = browser()
    try:
        driver.get("about:blank")
        source = "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()
        made = driver.execute_async_script(_MAKE_SMALL, source, QUALITY)
        return base64.b64decode(made.partition(",")[2])
    finally:
        driver.quit()


if __name__ == "__main__":
    sys.exit(main())

"""The site that ``make docs`` builds."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

ROOT = Path(__file__).parents[2]


class SiteTests(SynchronousTestCase):
    """The pages, built by Sphinx."""

    timeout = 600

    def test_build(self) -> None:
        """It is built without a warning, can be searched, has light and dark, and loads nothing from elsewhere."""
        for module in ("sphinx", "furo"):
            if importlib.util.find_spec(module) is None:
                raise SkipTest(f"{module} is not installed (extra docs)")
        built = Path(tempfile.mkdtemp(prefix="site-"))
        self.addCleanup(shutil.rmtree, built)
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-d", f"{built}/doctrees", "docs"]
        done = subprocess.run([*command, f"{built}/html"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        pages = {path.stem: path.read_text() for path in (built / "html").glob("*.html")}
        loaded = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="((?:https?:)?//[^"]+)"')
        self.assertEqual({name: found for name, text in pages.items() if (found := loaded.findall(text))}, {})
        self.assertIn("searchtools.js", pages["search"])
        for word in ("rebuildindex", "cooki", "promis"):
            self.assertIn(word, (built / "html" / "searchindex.js").read_text())
        self.assertIn("prefers-color-scheme: dark", pages["index"])
        for name in {path.stem for path in (ROOT / "docs").glob("*.rst")} - {"index"}:
            self.assertIn(f'href="{name}.html"', pages["index"], name)

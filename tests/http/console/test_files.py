"""The page of the console, as files."""

import json
import re
from importlib.resources import files

from twisted.internet.task import Clock

from bookkeeper_twisted.http import console
from bookkeeper_twisted.http.console.files import FILES, page_version, version_of
from bookkeeper_twisted.http.site import make_site
from bookkeeper_twisted.testing.admin import FakeBookieAdmin

from ..http_case import HttpCase

LARGEST = 250 * 1024


class FilesTests(HttpCase):
    """What a browser loads."""

    def setUp(self) -> None:
        self.site = make_site(FakeBookieAdmin(), Clock())

    def text(self, name: str) -> str:
        """A file of the page."""
        return files(console).joinpath("page", name).read_text()

    def test_answers(self) -> None:
        """Each file has its type, and a policy that lets nothing come from elsewhere and no script be in the page."""
        for name in FILES:
            answer = self.ask("/console" if name == "index.html" else f"/console/{name}")
            self.assertEqual(answer.status, 200)
            self.assertIn("Content-Security-Policy: default-src 'none'; script-src 'self';", answer.head)
            self.assertIn("X-Content-Type-Options: nosniff", answer.head)
            self.assertEqual(answer.body, self.text(name).replace("VERSION_OF_THE_PAGE", page_version()))
        self.assertIn("Content-Type: text/javascript; charset=utf-8", self.ask("/console/main.js").head)
        self.assertEqual(self.ask("/console", "PUT").status, 405)
        self.assertEqual(self.ask("/console/none.js").status, 404)

    def test_version(self) -> None:
        """The page and the stream name the same version, by which an open page recognizes an upgrade of its server."""
        (loaded,) = re.findall(r'<meta name="version" content="(\w+)">', self.ask("/console").body)
        self.assertEqual(loaded, page_version())
        self.assertEqual(json.loads(self.ask("/api/v1/console/stream").body)["page"], loaded)

    def test_versions(self) -> None:
        """Another text in any file is another version."""
        texts = [self.text(name).encode() for name in FILES]
        changed = [[*texts[:at], texts[at] + b" ", *texts[at + 1 :]] for at in range(len(texts))]
        versions = {version_of(each) for each in [texts, *changed]}
        self.assertEqual((len(versions), page_version() in versions), (len(FILES) + 1, True))

    def test_complete(self) -> None:
        """Each file in the folder is served, and nothing else; all together are small."""
        folder = files(console).joinpath("page")
        self.assertEqual({each.name for each in folder.iterdir()}, set(FILES))
        self.assertLess(sum(len(self.text(name)) for name in FILES), LARGEST)

    def test_offline(self) -> None:
        """Nothing is loaded from elsewhere, and nothing is in the page that its policy forbids."""
        for name in FILES:
            text = self.text(name).replace("http://www.w3.org/2000/svg", "")
            self.assertEqual(re.findall(r"https?://[^$`]|//cdn|@import|\beval\(|innerHTML|document\.write", text), [])
        page = self.text("index.html")
        self.assertEqual(re.findall(r"\son\w+=|\sstyle=|<script>|<style", page), [])

    def test_imports(self) -> None:
        """Modules import files that are served, and names that these export."""
        for name in FILES:
            for names, module in re.findall(r'import \{([^}]*)\} from "/console/([^"]+)"', self.text(name)):
                exported = re.findall(r"export (?:async )?(?:const|function|class) (\w+)", self.text(module))
                wanted = {each.split(" as ")[0].strip() for each in names.split(",") if each.strip()}
                self.assertLessEqual(wanted, set(exported), f"{name}: {module}")

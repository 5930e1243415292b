"""The console in a real browser, over real bookies: each question of an operator is answered in at most two clicks."""

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from benchmarks.shared.browser import browser, missing
from bookkeeper_twisted.cli.http_requests import send
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.autorecovery import make_daemon
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.embedding.standalone import standalone_configs

PATIENCE = 30.0
"""Seconds to wait for what a page should show."""

NOBODY = "sesame-of-a-ledger"


class Visit:
    """One visit of the console; its methods block, so it runs in a thread of its own.

    :ivar clicks: number of clicks since the last return to the overview.
    """

    def __init__(self, url: str, pictures: Path) -> None:
        self.url = url
        self.pictures = pictures
        self.clicks = 0
        self.driver = browser()

    def home(self) -> None:
        """Open the overview anew."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/console")
        self.clicks = 0
        self.wait("main table")

    def wait(self, selector: str, text: str = "") -> str:
        """Wait for an element, and for a text in it; return its text."""
        from selenium.webdriver.common.by import By

        def found(driver: Any) -> str:
            texts = [each.text for each in driver.find_elements(By.CSS_SELECTOR, selector)]
            return next((each for each in texts if each and text in each), "")

        return str(self.until(found, f"{selector} with {text!r}"))

    def until(self, condition: Callable[[Any], object], what: str) -> object:
        """Wait until a condition on the browser holds, and return its result; on a failure, name ``what`` was awaited.
        """
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            return WebDriverWait(self.driver, PATIENCE, ignored_exceptions=(Exception,)).until(condition)
        except Exception:
            shown = self.driver.find_element(By.CSS_SELECTOR, "body").text
            raise AssertionError(f"no {what} in:\n{shown}") from None

    def click(self, text: str) -> None:
        """Click on a link or button with this text, in one step, as the page may draw it anew at any time."""
        self.until(lambda driver: driver.execute_script(
            "for (const each of document.querySelectorAll('a, button')) "
            "if (each.textContent === arguments[0]) { each.click(); return true; } return false", text,
        ), f"link or button {text!r}")  # fmt: skip
        self.clicks += 1

    def fill(self, selector: str, text: str) -> None:
        """Put a text into a field, in one step."""
        self.until(lambda driver: driver.execute_script(
            "const field = document.querySelector(arguments[0]); if (!field) return false; field.value = arguments[1]; "
            "field.dispatchEvent(new Event('input', {bubbles: true})); return true", selector, text,
        ), f"field {selector}")  # fmt: skip

    def ask(self, question: str) -> None:
        """Go to the overview, and click on a question."""
        self.home()
        self.click(question)

    def check_reach(self) -> None:
        """Check that the page can be used without a mouse, is dark for those who want it, and names its landmarks."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.home()
        dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        body = self.driver.find_element(By.CSS_SELECTOR, "body")
        colors = [int(each) for each in re.findall(r"\d+", body.value_of_css_property("background-color"))[:3]]
        assert max(colors) < 64, colors
        self.picture("dark")
        self.driver.execute_script("document.activeElement.blur(); window.focus()")
        reached = []
        for _ in range(len(self.driver.find_elements(By.CSS_SELECTOR, "a"))):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            reached.append(self.driver.switch_to.active_element.text)
        assert reached[0] == "Skip to the content", reached
        assert {"Overview", "Events", "Why is this bookie read-only?", "What limits the repair?"} <= {*reached}, reached
        for mark in ("header", "nav[aria-label]", "main", "[role=status][aria-live]", "[role=alert]", "th[scope=col]"):
            assert self.driver.find_elements(By.CSS_SELECTOR, mark), mark

    def picture(self, name: str) -> None:
        """Save a picture of the page."""
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def errors(self) -> list[str]:
        """The errors that pages have written to the browser's console."""
        return [each["message"] for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]

    def close(self) -> None:
        """End the browser."""
        self.driver.quit()


class ConsoleTests(TestCase):
    """Three bookies with autorecovery, of which one stops and one is read-only."""

    timeout = 300

    def setUp(self) -> Any:
        if lacking := missing():
            raise SkipTest(lacking)
        return self.start()

    async def start(self) -> None:
        """Start the bookies and the browser, and write ledgers."""
        directory = tempfile.mkdtemp(prefix="console-")
        self.addCleanup(shutil.rmtree, directory)
        plain = BookieConfig(
            bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1, http_server_enabled=True,
            http_server_port=0, slow_request_threshold_ms=1, lost_bookie_recovery_delay=0,
        )  # fmt: skip
        configs = standalone_configs(plain, 3, directory)
        self.bookies = [make_bookie(reactor, config) for config in configs]
        for bookie in self.bookies:
            self.addCleanup(bookie.stop)
            await bookie.start()
        first = self.bookies[0]
        repair = make_daemon(
            reactor, configs[0], ClientConfig(), lambda: first.bookie_id, first.instruments,
            first.admin.limit_replication,
        )  # fmt: skip
        self.addCleanup(repair.stop)
        await repair.start()
        self.url = f"http://127.0.0.1:{first.http_port}"
        self.client = await BookKeeper.connect(reactor, configs[0].metadata_service_uri)
        self.addCleanup(self.client.close)
        await self.write()
        pictures = Path("console-screenshots")
        pictures.mkdir(exist_ok=True)
        self.visit = await deferToThread(Visit, self.url, pictures)
        self.addCleanup(deferToThread, self.visit.close)

    async def write(self) -> None:
        """Write a closed ledger and one that stays open."""
        closed = await self.client.create_ledger(
            3, 2, 2, password=NOBODY.encode(), custom_metadata={"application": b"orders/eu"}
        )
        for number in range(20):
            await closed.append(json.dumps({"order": number}).encode())
        await closed.close()
        self.closed = closed.ledger_id
        self.writer = await self.client.create_ledger(3, 2, 2, custom_metadata={"application": b"billing/us"})
        await self.writer.append(b"an entry")

    async def put(self, path: str, body: object = None) -> None:
        """Send a request that changes something."""
        data = b"" if body is None else json.dumps(body).encode()
        status, answer = await send(reactor, "PUT", self.url + path, data, ClientConfig())
        self.assertEqual(status, 200, answer)

    async def look(self, work: Callable[[], None]) -> None:
        """Do something in the browser."""
        await deferToThread(work)

    async def test_healthy(self) -> None:
        """Pages render without an error, a healthy bookie's questions are answered, and a limit that is set holds."""
        await self.look(self._healthy)
        limits = self.bookies[0].admin.background().limits()
        self.assertEqual({each.name: each.limit.entries for each in limits.throttles}["gc-metadata"], 321)
        self.assertNotIn(NOBODY, self.seen)

    def _healthy(self) -> None:
        visit, seen = self.visit, []
        visit.home()
        seen.append(visit.wait("#line", "3 live, 0 read-only, 0 unavailable"))
        visit.wait("main table", "writable bookies would be left")
        visit.picture("overview")
        for page, text in (
            ("Bookies", "not known before half an hour"), ("This bookie", "and writable"),
            ("Jobs and limits", "gc-metadata"), ("Entry logs", "log"), ("Ledgers", "orders/eu"),
            ("Repair", "nothing has to be repaired"),
            ("Events", "the newest first"),
        ):  # fmt: skip
            visit.click(page)
            seen.append(visit.wait("main", text))
            visit.picture(page.lower().replace(" ", "-"))
        visit.ask("When will the disk be full?")
        visit.wait("main table", "not known before half an hour of samples")
        visit.ask("What is slow, disk or network or queue?")
        seen.append(visit.wait("#verdict"))
        visit.fill("#threshold", "77")
        visit.click("Record slow requests")
        visit.wait("main caption", "Slow requests of 77 ms")
        visit.ask("Who holds this disk?")
        seen.append(visit.wait("#holders", "entry logs"))
        visit.ask("What would a compaction win?")
        visit.wait("#gain-major", "would free")
        visit.ask("Which ledgers are still open, and who writes them?")
        seen.append(visit.wait("main .scroll", "billing/us"))
        self.assertNotIn("orders/eu", seen[-1])
        self.assertLessEqual(visit.clicks, 2)
        visit.ask("Is this entry the same on all replicas?")
        visit.fill("input[name=ledger]", str(self.closed))
        visit.fill("input[name=entry]", "7")
        visit.click("Compare its replicas")
        seen.append(visit.wait("#same", "all 2 replicas are the same"))
        visit.wait("#replicas pre", '{"order": 7}')
        visit.picture("entry")
        self.assertLessEqual(visit.clicks, 2)
        visit.home()
        visit.click("Jobs and limits")
        visit.wait("main", "gc-metadata")
        visit.wait("main", "Ledgers that this process repairs")
        visit.wait("main", "used by")
        visit.fill("#entries-gc-metadata", "321")
        visit.driver.find_element("css selector", "#set-gc-metadata").click()
        visit.driver.find_element("css selector", "#suspend-compaction").click()
        visit.wait("main dl", "SUSPENDED")
        visit.check_reach()
        self.seen = "\n".join(seen)
        self.assertEqual(visit.errors(), [])

    async def test_broken(self) -> None:
        """Of a cluster that lost a bookie, the console says what is wrong, why, and what limits the repair."""
        await self.bookies[2].stop()
        await self.put("/api/v1/bookie/state/readonly", {"readOnly": True})
        await self.put("/api/v1/autorecovery/decommission", {"bookie_src": "bookie-2"})
        await self.look(self._broken)

    def _broken(self) -> None:
        visit = self.visit
        visit.home()
        visit.wait("#line", "1 live, 1 read-only, 1 unavailable, 1 draining")
        visit.ask("Why is this bookie read-only?")
        visit.wait("#reasons", "an administrator has set it read-only, since")
        visit.picture("read-only")
        visit.ask("Why does the decommission not end?")
        visit.wait("main", "decommission of bookie bookie-2")
        visit.wait("main table", "It waits for")
        visit.picture("decommission")
        visit.ask("Why is this ledger under-replicated?")
        visit.wait("main table", "bookie-2 is not registered")
        visit.click(str(self.closed))
        visit.wait("#why", "bookie-2 is not registered")
        visit.wait("#ledger svg", "bookie-2")
        visit.picture("ledger")
        self.assertEqual(visit.clicks, 2)
        visit.ask("What limits the repair?")
        visit.wait("#limit")
        visit.picture("repair")
        visit.ask("Is the cluster safe to lose one more bookie?")
        visit.wait("main table", "unavailable: bookie-2")
        visit.wait("#scan", "all of them")
        visit.wait("#scan", str(self.closed))
        visit.picture("safety")
        visit.ask("What happened at 03:12?")
        visit.wait("main .scroll", "an administrator has set it read-only")
        visit.picture("events")
        visit.wait("main .scroll", "lost")
        self.assertEqual(visit.errors(), [])

"""A headless Chromium, as selenium drives it."""

import importlib.util
import shutil
from typing import Any

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking",
    "--window-size=1280,1000", "--lang=en", "--enable-precise-memory-info",
)  # fmt: skip


def missing() -> str:
    """What a browser lacks on this machine, in one line; empty if one can be started."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed (extra dev)"
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return "chromium and chromedriver are not installed"
    return ""


def browser() -> Any:
    """A headless Chromium that writes down the errors of pages; its user ends it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))

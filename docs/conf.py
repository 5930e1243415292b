"""Sphinx configuration.  The reference of configuration keys is written from the table of fields."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from configuration_reference import write_reference  # noqa: E402

project = "bookkeeper-twisted"
copyright = "the authors of bookkeeper-twisted"
exclude_patterns = ["_build"]
html_theme = "alabaster"
nitpicky = False

write_reference(HERE / "_build" / "configuration.inc")

"""Sphinx configuration.  The references of keys, verbs, paths, metrics and errors are written from the code."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import configuration_reference  # noqa: E402
import errors_reference  # noqa: E402
import http_reference  # noqa: E402
import metrics_reference  # noqa: E402
import parity_reference  # noqa: E402
import shell_reference  # noqa: E402
import spark_options  # noqa: E402

import bookkeeper_twisted  # noqa: E402

project = "bookkeeper-twisted"
copyright = "the authors of bookkeeper-twisted"
extensions = ["constant_role", "reference_links"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {bookkeeper_twisted.__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
nitpicky = False

configuration_reference.write_reference(HERE / "_build" / "configuration.inc")
errors_reference.write_reference(HERE / "_build" / "errors.inc")
http_reference.write_reference(HERE / "_build" / "http.inc")
APACHE = HERE.parent / "tests" / "vectors" / "metrics" / "bookie.txt"
metrics_reference.write_reference(HERE / "_build" / "metrics.inc", APACHE.read_text())
parity_reference.write_reference(HERE / "_build" / "parity.inc")
shell_reference.write_reference(HERE / "_build" / "verbs.inc")
spark_options.write_reference(HERE / "_build" / "spark_options.inc")

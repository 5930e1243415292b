"""``python -m tests.deployment``: write ``rendered.json``, for which Helm and PyYAML are needed."""

import json

from .chart import RENDERED, digest, rendered_by_helm

RENDERED.write_text(json.dumps({"chart": digest(), "objects": rendered_by_helm()}, indent=1, sort_keys=True) + "\n")
print(f"written: {RENDERED}")

"""Where bookies run: the chart for Kubernetes and the files for containers in ``contrib``.

``rendered.json`` is what Helm makes of the chart with the values of :data:`.chart.VALUES`.  Tests read it, as
there may be no Helm; ``python -m tests.deployment`` writes it where there is one, after a change of the chart.
"""

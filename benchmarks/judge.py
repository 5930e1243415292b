"""Prints figures beside their targets and remembers what was missed."""

import json

from .cases import Case

Figures = dict[str, float]

HEAD = (
    f"{'case':<20} {'bookie':<7} {'entries/s':>11} {'MB/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU s/M':>8} "
    f"{'syncs/k':>8} {'writes/k':>9}  against targets"
)


class Judge:
    """Collects results; :meth:`verdict` prints the last line and gives the exit code."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._judged = 0
        self._missed: list[str] = []
        if not as_json:
            print(HEAD)

    def startup(self, seconds: float, seconds_limit: float, mib: float, mib_limit: float) -> None:
        verdicts = [
            self._at_most("start-up", "seconds to serving", seconds, seconds_limit),
            self._at_most("start-up", "MiB idle", mib, mib_limit),
        ]
        if self._json:
            print(json.dumps({"case": "start-up", "seconds": seconds, "idle_mib": mib, "targets": verdicts}))
        else:
            print(f"{'start-up':<20} {'ours':<7} {'; '.join(verdicts)}", flush=True)

    def case(self, case: Case, medians: dict[str, Figures], ratios: Figures) -> None:
        """One case: the medians of each bookie, and the ratios of the pairs."""
        mine = medians["ours"]
        verdicts = []
        for limit, key, what in (
            (case.writes_per_1000, "writes_per_1000", "socket writes/1000"),
            (case.syncs_per_1000, "syncs_per_1000", "syncs/1000"),
        ):
            if limit is not None:
                verdicts.append(self._at_most(case.name, what, mine.get(key, float("inf")), limit))
        if ratios and case.rate_ratio is not None:
            verdicts.append(self._at_least(case.name, "rate x", ratios["rate"], case.rate_ratio))
        if ratios and case.p50_ratio is not None:
            verdicts.append(self._at_most(case.name, "p50 x", ratios["p50_ms"], case.p50_ratio))
        self._print(case, medians, ratios, verdicts)

    def verdict(self) -> int:
        """:returns: 0 if every target was met, else 1."""
        text = f"{self._judged} targets, {len(self._missed)} missed"
        if self._missed:
            text += ": " + ", ".join(self._missed)
        print(json.dumps({"summary": text, "missed": self._missed}) if self._json else text)
        return 1 if self._missed else 0

    def _at_most(self, name: str, what: str, figure: float, limit: float) -> str:
        return self._judge(name, what, figure, limit, "<=", figure <= limit)

    def _at_least(self, name: str, what: str, figure: float, limit: float) -> str:
        return self._judge(name, what, figure, limit, ">=", figure >= limit)

    def _judge(self, name: str, what: str, figure: float, limit: float, sign: str, met: bool) -> str:
        self._judged += 1
        if not met:
            self._missed.append(f"{name} {what}")
        return f"{what} {figure:.3g} ({sign} {limit:g}{'' if met else ', MISSED'})"

    def _print(self, case: Case, medians: dict[str, Figures], ratios: Figures, verdicts: list[str]) -> None:
        if self._json:
            print(json.dumps({"case": case.name, **medians, "ratios": ratios, "targets": verdicts}), flush=True)
            return
        for name, f in medians.items():
            tail = "; ".join(verdicts) if name == "ours" else ""
            print(
                f"{case.name:<20} {name:<7} {f['rate']:>11,.0f} {f['mb_s']:>8.1f} {f['p50_ms']:>8.3f} "
                f"{f['p99_ms']:>8.3f} {f['cpu_s_per_million']:>8.2f} {f.get('syncs_per_1000', float('nan')):>8.2f} "
                f"{f.get('writes_per_1000', float('nan')):>9.2f}  {tail}",
                flush=True,
            )

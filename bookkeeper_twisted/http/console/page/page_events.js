// What happened, and why: the events of the process, around a time if one is given.

import { get } from "/console/connection.js";
import { h } from "/console/elements.js";
import { time } from "/console/format.js";
import { LongTable } from "/console/table.js";

const AROUND = 600,
  SHOWN = 2000;
const KINDS = ["", "state", "disk", "space", "scrub", "repair", "bookie", "change", "limits", "metadata", "other"];

/** The last time at which a local clock showed HH:MM, in seconds. */
export function lastTime(clock, now = new Date()) {
  const [hours, minutes] = clock.split(":").map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) at.setDate(at.getDate() - 1);
  return Math.floor(at / 1000);
}

export const events = {
  title: "Events",
  open(root, { act, parameters }) {
    const clock = parameters.get("at") || "",
      day = parameters.get("day") || "",
      kind = parameters.get("kind") || "";
    const search = (event) => {
      event.preventDefault();
      location.hash = `#/events?${new URLSearchParams(new FormData(event.target))}`;
    };
    const table = new LongTable("Events of thirty days, the newest first", [
      ["at", (row) => time(row[0])],
      ["level", (row) => h("span", { class: row[1] === "info" ? null : "bad" }, row[1])],
      ["kind", (row) => row[2]],
      ["what, and why", (row) => h("span", { title: row[3] }, row[3])],
    ]);
    root.append(
      h(
        "form",
        { class: "search", onsubmit: search },
        h("label", null, "What happened at", h("input", { type: "time", name: "at", value: clock })),
        h("label", null, "on the day", h("input", { type: "date", name: "day", value: day })),
        h(
          "label",
          null,
          "Kind",
          h(
            "select",
            { name: "kind" },
            KINDS.map((each) => h("option", { value: each, selected: each === kind }, each || "any")),
          ),
        ),
        h("button", null, "Show"),
      ),
      table.element,
      h(
        "p",
        { class: "quiet" },
        "They survive a restart of a bookie for 30 days; those of a process without a bookie do not.",
      ),
    );
    const middle = clock ? (day ? Math.floor(new Date(`${day}T${clock}`) / 1000) : lastTime(clock)) : null;
    const range = middle === null ? "" : `&from=${middle - AROUND}&until=${middle + AROUND + 60}`;
    act(async () => table.set(await get(`/api/v1/console/events?kind=${kind}${range}`)));
    let last = null;
    return {
      update({ events: rings }) {
        const ring = rings?.[0];
        if (!ring || middle !== null || kind) return;
        if (last !== null && ring.last > last) {
          const fresh = ring.records.slice(last - ring.last).reverse();
          table.replace([...fresh, ...table.rows].slice(0, SHOWN));
        }
        last = ring.last;
      },
    };
  },
};

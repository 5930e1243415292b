// One bookie: why it is read-only, when its disks are full, what is slow; its journals and slow requests.

import { send } from "/console/connection.js";
import { h, part, picture, smallTable, svg } from "/console/elements.js";
import { bytes, count, days, directoryOf, millis, percent, reason, time } from "/console/format.js";
import { LongTable } from "/console/table.js";

const KEPT_GROUPS = 600,
  SHOWN_GROUPS = 300,
  HEIGHT = 90;

export const bookie = {
  title: "This bookie",
  open(root, { act }) {
    const parts = {
      state: part(stateOf),
      disks: part((disks) =>
        smallTable(
          "Disks",
          [
            ["directory", directoryOf],
            ["used", (row) => (row.reason ? "" : bytes(row.total - row.free)), true],
            ["of", (row) => (row.reason ? "" : bytes(row.total)), true],
            ["share", (row) => (row.reason ? "" : percent(row.total - row.free, row.total)), true],
            ["grows a day", (row) => (row.growthPerDay === null ? "" : bytes(row.growthPerDay)), true],
            ["full", (row) => days(row)],
          ],
          disks,
        ),
      ),
      latency: part(latencyOf),
    };
    const slowTable = new LongTable("Slow requests", [
      ["at", (row) => time(row[0])],
      ["operation", (row) => row[1]],
      ["client", (row) => row[2]],
      ["ledger", (row) => (row[3] < 0 ? "" : h("a", { href: `#/ledger?id=${row[3]}` }, String(row[3])))],
      [
        "entry",
        (row) => (row[4] < 0 ? "" : h("a", { href: `#/entry?ledger=${row[3]}&entry=${row[4]}` }, String(row[4]))),
      ],
      ["entries", (row) => count(row[5]), true],
      ["took", (row) => millis(row[6]), true],
      ["waited for", (row) => row[7]],
    ]);
    const journalViews = [],
      journalPlace = h("div");
    let lastSlow = -1;
    const set = (readOnly) => () => act(() => send("PUT", "/api/v1/bookie/state/readonly", { readOnly }));
    root.append(
      parts.state.element,
      h(
        "p",
        null,
        h("button", { id: "set-read-only", onclick: set(true) }, "Set read-only"),
        h("button", { id: "set-writable", onclick: set(false) }, "Withdraw the request to be read-only"),
      ),
      h("h3", null, "When will the disk be full?"),
      parts.disks.element,
      h("h3", null, "What is slow?"),
      parts.latency.element,
      thresholdForm(act),
      journalPlace,
      slowTable.element,
    );
    return {
      update({ bookie: own, latency, journals, slow }) {
        if (own) {
          parts.state.update(own);
          parts.disks.update(own.disks || []);
        }
        if (latency) {
          parts.latency.update(latency);
          showThreshold(latency.threshold);
        }
        for (const [index, ring] of (journals || []).entries()) {
          if (!journalViews[index]) {
            journalViews[index] = journalView(journals.length > 1 ? `Journal ${index}` : "Journal");
            journalPlace.append(journalViews[index].element);
          }
          journalViews[index].update(ring);
        }
        slowTable.caption = `Slow requests of ${latency?.threshold || 0} ms and more, the newest first`;
        if (slow?.[0] && slow[0].last !== lastSlow) {
          lastSlow = slow[0].last;
          slowTable.replace([...slow[0].records].reverse());
        }
      },
    };
  },
};

function stateOf(own) {
  const reasons = own.reasons.map((each) => h("li", { class: "bad" }, reason(each)));
  return [
    h(
      "p",
      null,
      `${own.id || "no id yet"} at ${own.address || "no address yet"} is ${own.phase}, `,
      h("strong", { class: own.readOnly ? "bad" : "good" }, own.readOnly ? "read-only because" : "and writable"),
      own.readOnly
        ? own.highPriorityWrites
          ? " (adds of a recovery are accepted)"
          : " (adds of a recovery are refused)"
        : "",
    ),
    reasons.length ? h("ul", { id: "reasons" }, reasons) : null,
  ];
}

/** Shows the threshold in force in the field for another one, until somebody types there. */
function showThreshold(threshold) {
  const field = document.getElementById("threshold");
  if (field && field !== document.activeElement && !field.dataset.edited) field.value = threshold || 0;
}

/** Sets from how many milliseconds on a request counts as slow, until the process ends. */
function thresholdForm(act) {
  const set = (event) => {
    event.preventDefault();
    const slowRequestThresholdMs = new FormData(event.target).get("threshold");
    delete field.dataset.edited;
    act(() => send("PUT", "/api/v1/config/server_config", { slowRequestThresholdMs }));
  };
  const field = h("input", { id: "threshold", name: "threshold", type: "number", min: 0, required: true });
  field.addEventListener("input", () => {
    field.dataset.edited = "yes";
  });
  return h(
    "form",
    { class: "search", onsubmit: set },
    h("label", null, "A request is slow from ms on (0: none is)", field),
    h("button", { id: "set-threshold" }, "Record slow requests"),
  );
}

function latencyOf(latency) {
  const waits = Object.entries(latency.seconds).sort((one, other) => other[1] - one[1]);
  return [
    h("p", { id: "verdict" }, h("strong", null, latency.text)),
    h(
      "p",
      { class: "quiet" },
      `Means of the last ten minutes, a journal group: in the queue ${millis(latency.queue_ms) || "-"}, ` +
        `write ${millis(latency.write_ms) || "-"}, sync ${millis(latency.sync_ms) || "-"}.`,
    ),
    waits.length
      ? smallTable(
          "What slow requests waited for in the last ten minutes",
          [
            ["cause", (row) => row[0]],
            ["seconds", (row) => row[1].toFixed(1), true],
          ],
          waits,
        )
      : null,
  ];
}

const bar = (at, from, height) => `M${at * 3} ${(HEIGHT - from).toFixed(1)}h2v${(-height).toFixed(1)}h-2z`;

/** The last groups of a journal as bars: time in the queue below, write and sync above it; all kept ones as a table. */
function journalView(name) {
  const wait = svg("path", { class: "wait" }),
    disk = svg("path", { class: "sync" });
  const image = picture(SHOWN_GROUPS * 3, HEIGHT, `${name}: no group yet`, wait, disk);
  const title = h("h3", null, name),
    text = h("p", null, "no group yet");
  const table = new LongTable("Groups, the newest first", [
    ["at", (row) => time(row[0])],
    ["entries", (row) => count(row[1]), true],
    ["bytes", (row) => bytes(row[2]), true],
    ["queue", (row) => millis(row[3]), true],
    ["write", (row) => millis(row[4]), true],
    ["sync", (row) => (row[5] === null ? "none" : millis(row[5])), true],
  ]);
  const details = h("details", null, h("summary", null, "The groups as a table"), table.element);
  details.addEventListener("toggle", () => table.draw());
  let last = 0;
  return {
    element: h("section", null, title, image, text, details),
    update(ring) {
      if (ring.last === last) return;
      last = ring.last;
      const kept = ring.records.slice(-KEPT_GROUPS),
        groups = kept.slice(-SHOWN_GROUPS);
      const most = Math.max(...groups.map((each) => each[3] + each[4] + (each[5] || 0)), 0.001);
      const scale = HEIGHT / most;
      wait.setAttribute("d", groups.map((each, at) => bar(at, 0, each[3] * scale)).join(""));
      disk.setAttribute(
        "d",
        groups.map((each, at) => bar(at, each[3] * scale, (each[4] + (each[5] || 0)) * scale)).join(""),
      );
      const said = `${name}: queue below, write and sync above; the highest bar is ${millis(most)}`;
      image.setAttribute("aria-label", said);
      image.querySelector("title").textContent = said;
      const entries = kept.reduce((sum, each) => sum + each[1], 0),
        size = kept.reduce((sum, each) => sum + each[2], 0);
      const seconds = Math.max(kept.at(-1)[0] - kept[0][0], 0.001);
      title.textContent = `${name}: the last ${kept.length} groups`;
      text.textContent =
        `Highest bar ${millis(most)} (orange: queue, blue: write and sync). ` +
        `${count(entries)} entries, ${bytes(size)}, in ${seconds.toFixed(1)} s.`;
      table.rows = kept.reverse();
      if (details.open) table.draw();
    },
  };
}

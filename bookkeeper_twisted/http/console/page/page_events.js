// What happened, and why: the events of the process, around a time if one is given.

import { get } from "/console/connection.js";
import { h } from "/console/elements.js";
import { count, time } from "/console/format.js";
import { LongTable } from "/console/table.js";

const AROUND = 600,
  A_PAGE = 500; // the most events of one answer
const KINDS = ["", "state", "disk", "space", "scrub", "repair", "bookie", "change", "limits", "metadata", "other"];

/** The last time at which a local clock showed HH:MM, in seconds. */
export function lastTime(clock, now = new Date()) {
  const [hours, minutes] = clock.split(":").map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at > now) at.setDate(at.getDate() - 1);
  return Math.floor(at / 1000);
}

/** What an event says; of one that repeats, how many times it has happened. */
const told = ([, , , text, times, since]) => (times ? `${text} (${count(times)} times since ${time(since)})` : text);

/** What the rows of one event have in common: one that repeats gets a new row each time. */
const identity = ([, , , , , since, key]) => `${key} ${since}`;

/** Puts new rows before others, without the earlier rows of events that have repeated. */
export function joined(fresh, rows) {
  const repeated = new Set(fresh.filter((row) => row[4]).map(identity));
  return [...fresh, ...rows.filter((row) => !row[4] || !repeated.has(identity(row)))];
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
      ["what, and why", (row) => h("span", { title: told(row) }, told(row))],
    ]);
    const left = h("p", { role: "status", id: "left" }, "reading");
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
      left,
      table.element,
      h(
        "p",
        { class: "quiet" },
        "They survive a restart of a bookie for 30 days; those of a process without a bookie do not.",
      ),
    );
    const middle = clock ? (day ? Math.floor(new Date(`${day}T${clock}`) / 1000) : lastTime(clock)) : null;
    const range = middle === null ? "" : `&from=${middle - AROUND}&until=${middle + AROUND + 60}`;
    const part = (which) => get(`/api/v1/console/events?kind=${kind}${range}${which}`);
    let last = null,
      later = 0,
      earlier = 0,
      oldest = null;
    /** Says how many events are left out, with buttons that show the next ones. */
    function tell() {
      const shown = table.rows.length,
        all = later + shown + earlier;
      const more = (number, when, show) =>
        number > 0 &&
        h(
          "button",
          { id: when, onclick: () => act(show) },
          `Show ${count(Math.min(number, A_PAGE))} of the ${count(number)} ${when} ones that are left out`,
        );
      const isCut = middle !== null && (oldest === null || oldest > middle - AROUND);
      const kept = oldest === null ? " No event is kept." : ` The oldest event that is kept is of ${time(oldest)}.`;
      left.replaceChildren(
        ...[
          all > shown
            ? `${count(shown)} of ${count(all)} events${middle === null ? "" : ", next to this time"}. `
            : `All ${count(all)} events${middle === null ? "" : " from ten minutes before to ten minutes after"}. `,
          more(later, "later", showLater),
          " ",
          more(earlier, "earlier", showEarlier),
          isCut && kept,
        ].filter(Boolean),
      );
    }
    async function showLater() {
      const skip = Math.max(later - A_PAGE, 0);
      const rows = (await part(`&skip=${skip}`)).events.slice(0, later - skip);
      later = skip;
      table.replace(joined(rows, table.rows));
      tell();
    }
    async function showEarlier() {
      const answer = await part(`&skip=${later + table.rows.length}`);
      earlier = answer.earlier;
      table.replace(joined(table.rows, answer.events));
      tell();
    }
    act(async () => {
      try {
        const answer = await part(middle === null ? "" : `&around=${middle}`);
        ({ later, earlier, oldest } = answer);
        table.set(answer.events);
      } catch (error) {
        left.textContent = "the events cannot be read";
        throw error;
      }
      tell();
    });
    return {
      update({ events: rings }) {
        const ring = rings?.[0];
        if (!ring || middle !== null || kind) return;
        if (last !== null && ring.last > last) {
          const fresh = ring.records.slice(last - ring.last).reverse();
          table.replace(joined(fresh, table.rows));
          if (oldest !== null) tell();
        }
        last = ring.last;
      },
    };
  },
};

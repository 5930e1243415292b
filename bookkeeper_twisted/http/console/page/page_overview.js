// The overview with the questions of an operator, the bookies of the cluster, and whether one more may be lost.

import { get } from "/console/connection.js";
import { facts, h, part, smallTable } from "/console/elements.js";
import {
  ago, asOf, bytes, count, days, directoryOf, duration, ensembleOf, marksOf, percent, reason, replicas, stateOf, time,
  undecoded, unread,
} from "/console/format.js";
import { LongTable } from "/console/table.js";

const unseen = () => ({
  end: 0, lost: 0, doubtful: 0, unwritten: 0, risky: 0, fewer: 0, unpromised: [], undecoded: [], failure: "",
  mixed: false,
});

/** What the page has found when it last looked through all ledgers. */
let scan = unseen();

const ledgersOf = (number) => `${count(number)} ${number === 1 ? "ledger" : "ledgers"}`;

const DOUBTFUL = "that are gone, that do not answer, or that marks name and that may have them";

const FEWER = "an acknowledgement promises none on the bookies that are left";

const UNWRITTEN = "they are not closed, and only bookies that are gone know whether they have any";

const MIXED = "bookies came or went while the ledgers were looked at: some are judged by those of before; it looks again";

/** Ledgers of which an acknowledgement promises one replica alone. */
function unpromised(ids) {
  if (!ids.length) return "";
  const them = `entries of ${ledgersOf(ids.length)} may have one replica alone, such as of ledger ${ids.slice(0, 5).join(", ")}`;
  return `${them}: their ack quorum promises no more`;
}

/** Whether the cluster can lose one more bookie, by bookies, marks and what is known of ledgers: [class, text]. */
function verdictOf(facts) {
  const against = facts.filter((each) => each.safe === false).map((each) => each.text);
  if (scan.risky)
    against.unshift(`the loss of one bookie would lose entries of ${ledgersOf(scan.risky)}`);
  if (scan.doubtful)
    against.unshift(`${ledgersOf(scan.doubtful)} may have entries without a replica left: all are on bookies ${DOUBTFUL}`);
  if (scan.fewer)
    against.unshift(`${ledgersOf(scan.fewer)} may have entries without a replica left: ${FEWER}`);
  if (scan.unwritten)
    against.unshift(`${ledgersOf(scan.unwritten)} may have entries without a replica left: ${UNWRITTEN}`);
  if (scan.lost)
    against.unshift(`${ledgersOf(scan.lost)} ${scan.lost === 1 ? "has" : "have"} entries without a replica left already`);
  const unjudged = [undecoded(scan.undecoded), unpromised(scan.unpromised), scan.mixed ? MIXED : ""]
    .filter(Boolean)
    .join("; ");
  if (against.length) return ["bad", `NO: ${[...against, unjudged].filter(Boolean).join("; ")}`];
  if (scan.failure) return ["warn", `not known, as the ledgers cannot be read: ${scan.failure}`];
  const open = facts.find((each) => each.safe === null);
  if (open || unjudged) return ["warn", `not known: ${[open?.text, unjudged].filter(Boolean).join("; ")}`];
  if (!facts.length) return ["warn", "not known yet"];
  return scan.end ? ["good", "yes"] : ["warn", "not known before all ledgers are looked at; bookies and marks say yes"];
}

const QUESTIONS = [
  [
    "Why is this bookie read-only?",
    "#/bookie",
    ({ bookie }) =>
      !bookie
        ? ""
        : bookie.reasons.length
          ? bookie.reasons.map(reason).join("; ")
          : "it is not",
    "bookie",
  ],
  [
    "Why does the decommission not end?",
    "#/work",
    ({ operations }) =>
      !operations
        ? ""
        : operations
            .map((each) =>
              each.failure
                ? `${each.name}: FAILED, ${each.advice}: ${each.failure}`
                : each.unreachable
                ? `${each.name}: waits for the metadata store: ${each.unreachable}`
                : `${each.name}: ${each.summary ?? "at work"}`,
            )
            .join("; ") || "none runs in this process",
    "operations",
  ],
  [
    "Why is this ledger under-replicated?",
    "#/repair",
    ({ cluster }) => {
      if (cluster?.marked === undefined) return cluster?.unread || "";
      const alone = cluster.marksAlone ? `; others may lack replicas: ${cluster.marksAlone}` : "";
      if (!cluster.marked) return alone ? `none is marked${alone}` : "none is";
      return `${marksOf(cluster)} ${cluster.marked === 1 ? "is" : "are"} marked; the page has the reason of each${alone}`;
    },
    "cluster",
  ],
  [
    "Who holds this disk?",
    "#/disk",
    ({ bookie }) =>
      (bookie?.disks || [])
        .filter((each) => !each.journal)
        .map((each) =>
          each.reason
            ? `${directoryOf(each)}: cannot be measured: ${each.reason}`
            : `${directoryOf(each)}: ${percent(each.total - each.free, each.total)} used`,
        )
        .join("; "),
    "bookie",
  ],
  ["What would a compaction win?", "#/logs", () => "live and dead space of the entry logs"],
  ["What is slow, disk or network or queue?", "#/bookie", ({ latency }) => latency?.text || "", "latency"],
  ["Is this entry the same on all replicas?", "#/entry", () => "reads it from each of its bookies"],
  [
    "When will the disk be full?",
    "#/bookie",
    ({ bookie }) =>
      (bookie?.disks || [])
        .map((each) => `${directoryOf(each)}: ${days(each)}`)
        .join("; "),
    "bookie",
  ],
  [
    "What happened at 03:12?",
    "#/events",
    ({ events }) => {
      const newest = events?.[0]?.records.at(-1);
      return newest ? `last event: ${newest[3]}` : "no event since the start";
    },
  ],
  [
    "Which ledgers are still open, and who writes them?",
    "#/ledgers?state=open",
    () => "open ledgers with their custom metadata",
  ],
  [
    "What limits the repair?",
    "#/repair",
    (state) => (state.repair?.limit ? state.repair.limit + asOf(state) : ""),
    "repair",
  ],
  [
    "Is the cluster safe to lose one more bookie?",
    "#/safety",
    ({ cluster }) => {
      const asOfScan = scan.end ? `, as the ledgers were at ${time(scan.end)}` : "";
      return cluster?.safe ? verdictOf(cluster.safe)[1] + asOfScan : "";
    },
    "cluster",
  ],
];

/** An answer; if its part of the state cannot be read, why, and that the answer is old; or that it is still read. */
function current(state, answer, name) {
  const text = answer(state),
    why = unread(state, name);
  if (why) return `${why}${text ? `; OLD: ${text}` : ""}`;
  return text || (OF_CLUSTER.includes(name) && state.operations ? "not known yet" : "");
}

const OF_CLUSTER = ["cluster", "repair"]; // a process without a client of the cluster has no operations, either
const OF_BOOKIE = ["#/bookie", "#/disk", "#/logs"];
const OTHERS = "this process has no bookie: its own console knows";

export const overview = {
  title: "Overview",
  open(root) {
    const cells = QUESTIONS.map(() => h("span"));
    root.append(
      smallTable(
        "Questions",
        [
          ["question", ([text, href]) => h("a", { href }, text)],
          ["answer", (row) => cells[QUESTIONS.indexOf(row)]],
        ],
        QUESTIONS,
      ),
    );
    return {
      update: (state) =>
        QUESTIONS.forEach(([, href, answer, name], index) => {
          const isElsewhere = OF_BOOKIE.includes(href) && state.throttles && !("work" in state);
          const text = isElsewhere ? OTHERS : current(state, answer, name);
          if (cells[index].textContent === text) return;
          cells[index].textContent = text;
          cells[index].closest("tr").querySelector("a").href = isElsewhere ? "#/bookies" : href;
        }),
    };
  },
};

const itsConsole = (row) => h("a", { href: `${row.url}/console#/bookie` }, "its console");

const noAnswer = (row) => (row.why ? `registered as ${row.state}; ${row.why} ` : "");

const ownRow = (own) =>
  [...own.reasons.map(reason), ...own.disks.map(days)].join("; ");

const ORDER = ["unavailable", "does not answer", "read-only", "writable"];
const byName = new Intl.Collator("en", { numeric: true });
const byNeed = (one, other) =>
  ORDER.indexOf(stateOf(one)) - ORDER.indexOf(stateOf(other)) || byName.compare(one.id, other.id);

export const bookies = {
  title: "Bookies",
  open(root, { state }) {
    const waiting = h("p", { class: "quiet" }, "waiting for the cluster");
    const filter = h("input", { id: "bookie-filter", oninput: () => show() });
    let own = null,
      drawn = null;
    const table = new LongTable("Bookies", [
      ["bookie", (row) => h("a", { href: `#/ledgers?bookie=${encodeURIComponent(row.id)}`, title: "its ledgers" }, row.id)],
      ["state", (row) => h("span", { class: ["bad", "bad", "warn", "good"][ORDER.indexOf(stateOf(row))] }, stateOf(row))],
      ["since", (row) => ago(row.why ? row.silentSince : row.since)],
      ["rack", (row) => row.rack],
      ["used", (row) => (row.total === null ? "" : bytes(row.total - row.free)), true],
      ["free", (row) => (row.free === null ? "" : bytes(row.free)), true],
      ["share", (row) => (row.total === null ? "" : percent(row.total - row.free, row.total)), true],
      ["reason, disks", (row) => (row.id === own?.id ? ownRow(own) : [noAnswer(row), row.url ? itsConsole(row) : ""])],
    ]);
    function show() {
      const { cluster } = state;
      waiting.hidden = Boolean(cluster?.bookies);
      if (!cluster?.bookies) return;
      const all = Object.values(cluster.bookies);
      const wanted = all.filter((row) => `${row.id} ${stateOf(row)} ${row.rack}`.includes(filter.value));
      table.caption = `${count(wanted.length)} of ${count(all.length)} bookies, those that need a look first`;
      table.replace(wanted.sort(byNeed));
    }
    root.append(
      h("form", { class: "search", role: "search", onsubmit: (event) => event.preventDefault() }, [
        h("label", null, "Id, state or rack has", filter),
      ]),
      waiting,
      table.element,
      h(
        "p",
        { class: "quiet" },
        "Only a bookie itself knows why it is read-only and how fast its disks fill: its console says so.",
      ),
    );
    return {
      update() {
        if (state.cluster === drawn && state.bookie === own) return;
        drawn = state.cluster;
        own = state.bookie;
        show();
      },
    };
  },
};

export const safety = {
  title: "Is the cluster safe to lose one more bookie?",
  open(root, { act, state }) {
    const reasons = part((facts) =>
      smallTable(
        "What speaks for it and against it",
        [
          ["", (row) => h("span", { class: row.safe ? "good" : row.safe === null ? "warn" : "bad" },
            row.safe ? "yes" : row.safe === null ? "not known" : "NO")],
          ["", (row) => row.text],
        ],
        facts,
        "waiting for the cluster",
      ),
    );
    const verdict = part(([level, text]) => h("strong", { class: level }, text));
    const show = () => verdict.update(verdictOf(state.cluster?.safe || []));
    const found = h("div", { role: "status", id: "scan" }, "looking through all ledgers");
    verdict.element.id = "verdict";
    root.append(verdict.element, reasons.element, h("h3", null, "Ledgers with one replica left, or none"), found);
    keepLooking(found, show, act, state);
    return {
      update: () => {
        show();
        reasons.update(state.cluster?.safe || []);
      },
    };
  },
};

const AT_RISK = [
  ["ledger", (row) => h("a", { href: `#/ledger?id=${row.id}` }, String(row.id))],
  ["state", (row) => row.state],
  ["replicas left", (row) => replicas(row), true],
  ["that an acknowledgement promises", (row) => row.promised, true],
  ["bookies", ensembleOf],
];

const REST_MS = 30_000; // the least time between two looks through the ledgers
const REST_SHARE = 10; // a look that took long is repeated after this many times as long: the looks cost the cluster

const bookiesOf = ({ cluster }) =>
  Object.values(cluster?.bookies || {})
    .map((row) => `${row.id} ${stateOf(row)}`)
    .sort()
    .join();

/** Looks through the ledgers again and again while the page is shown, and sooner if bookies have changed since then. */
async function keepLooking(found, show, act, state) {
  scan = unseen();
  while (found.isConnected) {
    const began = Date.now();
    let bookies = bookiesOf(state);
    await act(() => scanLedgers(found, show, began, state));
    const end = Date.now(),
      took = end - began;
    const rest = () => {
      bookies ||= bookiesOf(state); // they were not known when the look began
      return bookies === bookiesOf(state) ? Math.max(REST_MS, REST_SHARE * took) : Math.min(REST_MS, took);
    };
    while (found.isConnected && (document.hidden || Date.now() - end < rest()))
      await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const worse = (one, other) =>
  ["lost", "fewer", "doubtful", "unwritten", "risky"].some((kind) => one[kind] > other[kind]) ||
  one.unpromised.length > other.unpromised.length;

/** Looks through all ledgers once; what an earlier look has found stays until this one has ended, or found worse. */
async function scanLedgers(found, show, began, state) {
  let bookies = bookiesOf(state);
  const rows = { lost: [], doubtful: [], unwritten: [], risky: [] },
    own = unseen();
  let after = -1,
    scanned = 0;
  if (!scan.end) scan = own;
  while (after !== null && found.isConnected) {
    let answer;
    try {
      answer = await get(`/api/v1/console/ledgers?at_risk=true&after=${after}`);
    } catch (error) {
      if (!found.isConnected) return;
      scan.failure = error.message;
      show();
      throw error;
    }
    if (!found.isConnected) return; // the page was left, and may be shown again, with a look of its own
    for (const row of answer.ledgers) {
      if (row.replicas && !row.promised) own.fewer += 1;
      if (row.replicas > 1) continue;
      const kind = row.replicas ? "risky" : row.doubtful ? "doubtful" : row.unwritten ? "unwritten" : "lost";
      own[kind] += 1;
      if (rows[kind].length < 100) rows[kind].push(row);
    }
    own.undecoded.push(...answer.undecoded);
    own.unpromised.push(...answer.unpromised);
    scanned += answer.scanned;
    after = answer.next;
    bookies ||= bookiesOf(state);
    own.mixed ||= bookies !== bookiesOf(state);
    if (after === null) own.end = Date.now() / 1000;
    else if (scan !== own && !worse(own, scan)) continue;
    scan = own;
    show();
    const took = Math.round(own.end - began / 1000);
    const all = `, all of them, at ${time(own.end)}${took > 1 ? `, within ${duration(took)}` : ""}`;
    const shown = (number) => h("span", { class: number ? "bad" : "good" }, count(number));
    found.replaceChildren(
      facts([
        ["ledgers looked at", count(scanned) + (after === null ? all : " so far")],
        ["without a replica left", shown(own.lost)],
        [`on bookies alone ${DOUBTFUL}`, shown(own.doubtful)],
        [`perhaps without one, as ${FEWER}`, shown(own.fewer)],
        [`perhaps with entries without one: ${UNWRITTEN}`, shown(own.unwritten)],
        ["one more loss would lose entries", shown(own.risky)],
        ["it might, as the ack quorum promises one replica alone", shown(own.unpromised.length)],
        ...(own.undecoded.length ? [["not known", h("span", { class: "bad" }, undecoded(own.undecoded))]] : []),
        ...(own.mixed ? [["not of one time", h("span", { class: "bad" }, MIXED)]] : []),
      ]),
      smallTable("The first without a replica left", AT_RISK, rows.lost),
      ...(own.doubtful ? [smallTable("The first that may have none left", AT_RISK, rows.doubtful)] : []),
      ...(own.unwritten ? [smallTable("The first that may have no entries", AT_RISK, rows.unwritten)] : []),
      smallTable("The first with one", AT_RISK, rows.risky),
    );
  }
}

// The frame of the console: the line at the top, the pages, and the state that the stream keeps.

import { follow, merge } from "/console/connection.js";
import { h } from "/console/elements.js";
import { bytes, count, stateOf, time, underReplicated, unread, warnings } from "/console/format.js";
import { bookie } from "/console/page_bookie.js";
import { events } from "/console/page_events.js";
import { ledger, ledgers, entry } from "/console/page_ledgers.js";
import { overview, bookies, safety } from "/console/page_overview.js";
import { repair } from "/console/page_repair.js";
import { disk, logs, work } from "/console/page_work.js";

const PAGES = { overview, bookies, bookie, work, logs, disk, ledgers, ledger, entry, repair, safety, events };
const OF_BOOKIE = ["bookie", "logs"]; // a process that runs autorecovery alone has no such parts
const IN_MENU = ["overview", "bookies", "bookie", "work", "logs", "ledgers", "repair", "events"];

/** How the parts are called that can be old, and the pages that show them. */
const PARTS = {
  bookie: ["the state of this bookie", "bookie", "bookies"],
  latency: ["what is slow", "bookie"],
  work: ["collection, compaction and scrub", "work"],
  operations: ["decommissions and recoveries", "work"],
  replication: ["replication by this process", "work"],
  throttles: ["speed limits", "work"],
  cluster: ["the cluster", "bookies", "safety"],
  repair: ["the repair", "repair"],
};

const state = {};
let shown = null,
  page = "";
const old = h("div", { id: "old", class: "bad", role: "status" });

function report(error) {
  document.getElementById("message").textContent = error ? error.message || String(error) : "";
}

/** Runs what a button does; an error becomes the message. */
async function act(work) {
  try {
    report("");
    return await work();
  } catch (error) {
    report(error);
    return undefined;
  }
}

function navigate() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const isKnown = Object.hasOwn(PAGES, path),
    name = isKnown ? path : "overview";
  for (const link of document.querySelectorAll("#pages a")) {
    if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  report(isKnown || !path ? "" : `there is no page ${path}; this is the overview`);
  const root = document.getElementById("content");
  page = name;
  root.replaceChildren(h("h2", { id: "title" }, PAGES[name].title), old);
  document.title = `${PAGES[name].title} - BookKeeper console`;
  shown = PAGES[name].open(root, { state, act, parameters: new URLSearchParams(query || "") });
  draw();
  return root;
}

/** Shows something of the state; an error of this is a message, as the stream has to go on. */
function guarded(show) {
  try {
    show();
  } catch (error) {
    report(new Error(`this page cannot show all that the server sent: ${error.message}`));
  }
}

/** Shows the state on the present page. */
function draw() {
  guarded(tellOld);
  guarded(() => shown?.update?.(state));
}

/** Says above the page which of its parts cannot be read now, and whether it still shows what was read before. */
function tellOld() {
  const texts = Object.entries(PARTS)
    .filter(([name, [, ...pages]]) => pages.includes(page) && unread(state, name))
    .map(([name, [title]]) => `${title} ${unread(state, name)}${state[name] ? "; what is shown of it is OLD" : ""}`);
  if (texts.join() !== [...old.children].map((each) => each.textContent).join())
    old.replaceChildren(...texts.map((text) => h("p", null, text)));
}

/** The first of some bookies, with the times since when they do not answer. */
function silentSince(rows) {
  const shown = rows.slice(0, 3).map((each) => `${each.id} since ${time(each.silentSince)}`);
  return shown.join(", ") + (rows.length > shown.length ? ", ..." : "");
}

function summary() {
  const { bookie: own, cluster, operations, late, whyLate, failures, waits } = state;
  const parts = [],
    since = late?.cluster || late?.repair,
    why = whyLate?.cluster || whyLate?.repair,
    ownFailure = unread(state, "bookie");
  if (since)
    parts.push(`what is said of the cluster is OLD: reading it takes since ${time(since)}${why ? ` (${why})` : ""}`);
  else if (waits?.cluster) parts.push(`what is said of the cluster is OLD: it ${unread(state, "cluster")}`);
  if (failures?.cluster)
    parts.push(`the cluster cannot be read: ${failures.cluster.error}${cluster ? "; what is said of it is OLD" : ""}`);
  if (ownFailure) parts.push(`this bookie ${ownFailure}${own ? "; what is said of it is OLD" : ""}`);
  if (own?.readOnly) parts.push(`this bookie is READ-ONLY: ${own.reasons.map((each) => each.text).join("; ")}`);
  else if (own?.phase) parts.push(`this bookie is ${own.phase}`);
  parts.push(...warnings(own?.disks || []));
  if (cluster?.bookies) {
    const rows = Object.values(cluster.bookies);
    const of = (wanted) => rows.filter((each) => stateOf(each) === wanted);
    const known = rows.filter((each) => each.total !== null);
    const total = known.reduce((sum, each) => sum + each.total, 0);
    const free = known.reduce((sum, each) => sum + each.free, 0);
    parts.push(
      `${bytes(total - free)} of ${bytes(total)} used`,
      `${of("writable").length} live`,
      `${of("read-only").length} read-only`,
      `${of("unavailable").length} unavailable`,
    );
    const silent = of("does not answer");
    if (silent.length) parts.push(`${silent.length} DO NOT ANSWER (${silentSince(silent)})`);
  }
  const running = (operations || []).filter((each) => each.name.startsWith("decommission") && !each.failure);
  if (operations) parts.push(`${running.length} draining`);
  if (operations || cluster) parts.push(underReplicated(state));
  return parts.join(", ") || "connected";
}

function reload(event) {
  event.preventDefault(); // the address of the link has no part behind #: the page that is shown would be another one
  location.reload();
}

/** Tells that the server has another version of the page than the one that this browser has loaded. */
function checkVersion() {
  const line = document.getElementById("version"),
    own = document.querySelector('meta[name="version"]').content,
    isOld = state.page !== undefined && state.page !== own;
  if (isOld === line.hasChildNodes()) return;
  line.replaceChildren();
  if (isOld) {
    const link = h("a", { href: "/console", onclick: reload }, "reload the page");
    line.append("This page is of another version than its server: ", link);
  }
}

function changed(kind, data) {
  merge(state, kind, data);
  guarded(checkVersion); // first, as an old page may not understand the rest of the state
  guarded(() => {
    const line = document.getElementById("line"),
      text = summary();
    if (line.textContent !== text) line.textContent = text;
  });
  for (const name of OF_BOOKIE)
    document.querySelector(`#pages a[href="#/${name}"]`).parentElement.hidden = !("work" in state);
  draw();
}

document
  .getElementById("pages")
  .append(...IN_MENU.map((name) => h("li", null, h("a", { href: `#/${name}` }, PAGES[name].title))));
window.addEventListener("hashchange", () => navigate().focus({ preventScroll: true }));
navigate();
follow(changed, (text) => {
  const link = document.getElementById("link");
  link.textContent = text;
  link.className = text.includes("OLD") ? "bad" : "";
});

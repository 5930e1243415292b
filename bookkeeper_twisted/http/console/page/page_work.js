// Jobs with their progress, speed limits, the space in entry logs, and the ledgers that fill a disk.

import { download, get, send } from "/console/connection.js";
import { facts, h, part, picture, smallTable, svg } from "/console/elements.js";
import { ago, bytes, count, duration, percent, time } from "/console/format.js";
import { ownerOf } from "/console/page_ledgers.js";
import { LongTable } from "/console/table.js";

const API = "/api/v1/bookie";
const SHOWN_JOBS = 100;
const ASK_AGAIN_MS = 3000;

export const work = {
  title: "Jobs and limits",
  open(root, { act }) {
    const jobs = part(jobsOf);
    const operations = part(operationsOf);
    const replication = part(replicationOf);
    const limits = limitsTable(act);
    const ofBookie = h(
      "section",
      { id: "of-bookie", hidden: true }, // a process that runs autorecovery alone has no such jobs
      h("h3", null, "Collection, compaction, scrub"),
      jobs.element,
      ...jobButtons(act),
    );
    root.append(
      h("h3", null, "Decommissions and recoveries of this process"),
      operations.element,
      h("h3", null, "Replication by this process"),
      replication.element,
      ofBookie,
      h("h3", null, "Speed limits"),
      limits.element,
      h(
        "p",
        null,
        h(
          "button",
          { id: "bundle", onclick: () => act(() => download("/api/v1/console/bundle", "bookie-debug.zip")) },
          "Download a debug bundle",
        ),
      ),
    );
    return {
      update(state) {
        ofBookie.hidden = state.work === undefined;
        if (state.work !== undefined) jobs.update(state.work);
        if (state.operations) operations.update(state.operations);
        replication.update(state.replication ?? null);
        if (state.throttles) limits.update(state.throttles);
      },
    };
  },
};

function operationsOf(operations) {
  if (!operations.length) return h("p", { class: "quiet" }, "none");
  return operations.map((each) => [
    h(
      "p",
      null,
      h("strong", null, each.name),
      `, since ${ago(each.began)}`,
      each.failure
        ? h("span", { class: "bad" }, `: FAILED, ${each.advice}: ${each.failure}`)
        : each.unreachable
        ? h("span", { class: "warn" }, `: waits for the metadata store, and continues when it is back: ${each.unreachable}`)
        : each.found === undefined
        ? ": at work"
        : `: ${count(each.left)} of ${count(each.found)} ledgers are left${readAt(each)}, ${each.obstacle || endsIn(each.eta)} `,
      each.found && !each.failure ? bar(each.found - each.left, each.found, each.name) : null,
    ),
    each.blockers?.length && !each.failure
      ? smallTable(
          "It waits for",
          [
            ["kind of reason", (row) => row.kind],
            ["ledgers", (row) => count(row.count), true],
            ["of the first", (row) => (row.reason === row.kind ? "" : row.reason)],
            [
              "the first of them",
              (row) => row.ledgers.map((id) => [h("a", { href: `#/ledger?id=${id}` }, String(id)), " "]),
            ],
          ],
          each.blockers,
        )
      : null,
  ]);
}

const bar = (value, max, name) => h("progress", { value, max, "aria-label": `${name}: ${percent(value, max)}` });

/** The ledgers that the worker of this process has locked: at work ones with their fragments, waiting ones with why. */
function replicationOf(jobs) {
  if (jobs === null) return h("p", { class: "quiet" }, "autorecovery does not run in this process");
  const ledgerOf = (row) => row.name.split(" ").at(-1);
  return smallTable(
    "Ledgers that this process repairs",
    [
      ["ledger", (row) => h("a", { href: `#/ledger?id=${ledgerOf(row)}` }, ledgerOf(row))],
      ["state", (row) => row.state],
      ["since", (row) => ago(row.since)],
      [
        "fragments",
        (row) => (row.total ? [bar(row.done, row.total, row.name), ` ${count(row.done)} of ${count(row.total)}`] : ""),
      ],
      ["copied", (row) => bytes(row.bytes), true],
      ["ends in", (row) => (row.eta === null ? "" : duration(row.eta))],
      ["why it waits", (row) => row.reason],
    ],
    jobs.slice(0, SHOWN_JOBS),
  );
}

const readAt = (operation) => (operation.readAt ? `, as read at ${ago(operation.readAt)}` : "");

const endsIn = (eta) =>
  eta === null || eta === undefined ? "when it ends is not known" : `ends in ${duration(eta)}`;

function progressOf(progress, suspended) {
  if (!progress) return "not at work";
  const all = progress.doneBytes + progress.leftBytes,
    end = suspended ? "does not end while it is suspended" : endsIn(progress.etaSeconds);
  return `${bytes(progress.doneBytes)} of ${bytes(all)} (${percent(progress.doneBytes, all)}), ${end}`;
}

const ended = ({ last, cancelled }) =>
  cancelled ? `last cancelled ${ago(cancelled)}` : last === null ? "has not run" : `last ended ${ago(last)}`;

function jobsOf(value) {
  if (!value) return h("p", { class: "quiet" }, "the bookie does not serve");
  const { collection, scrub } = value;
  const isSuspended = [collection.major, collection.minor].some((each) => each.atWork && each.suspended);
  const kind = (name, each) =>
    `${each.suspended ? "SUSPENDED, " : ""}${each.atWork ? "at work" : ended(each)}, ` +
    `${each.total} since the start, logs below ${Math.round(100 * each.threshold)} % live`;
  return facts([
    [
      "collection",
      `${collection.phase}${collection.forced ? ", forced" : ""}; ` +
        `${collection.runs} runs, ${collection.deletedLedgers} ledgers deleted` +
        (collection.waiting ? `; ${collection.waiting}` : ""),
    ],
    ["last failure", collection.lastFailure ? h("span", { class: "bad" }, collection.lastFailure) : "none"],
    ["major compaction", kind("major", collection.major)],
    ["minor compaction", kind("minor", collection.minor)],
    ...Object.entries(collection.directories).map(([directory, each]) => [
      directory,
      [
        progressOf(each.compaction, isSuspended),
        Object.entries(each.damagedEntryLogs).map(([log, text]) => h("div", { class: "bad" }, `${log}: ${text}`)),
      ],
    ]),
    [
      "scrub",
      `${scrub.suspended ? "SUSPENDED, " : ""}${progressOf(scrub.progress, scrub.suspended)}` +
        `${scrub.at ? `, at ${scrub.at}` : ""}; ` +
        `${scrub.passes} passes, ${scrub.findings} findings`,
    ],
  ]);
}

function jobButtons(act) {
  const button = (id, text, path, body) =>
    h("button", { id, onclick: () => act(() => send("PUT", `${API}/${path}`, body)) }, text);
  return [
    h(
      "p",
      null,
      button("force-gc", "Collect and compact now", "gc", { forceMajor: true, forceMinor: true }),
      button("suspend-compaction", "Suspend compactions", "gc/suspend_compaction", {
        suspendMajor: true,
        suspendMinor: true,
      }),
      button("resume-compaction", "Resume compactions", "gc/resume_compaction", {
        resumeMajor: true,
        resumeMinor: true,
      }),
      button("cancel-compaction", "Cancel the compaction", "gc/cancel_compaction"),
    ),
    h(
      "p",
      null,
      button("start-scrub", "Scrub now", "scrub"),
      button("suspend-scrub", "Suspend the scrub", "scrub/suspend"),
      button("resume-scrub", "Resume the scrub", "scrub/resume"),
      button("cancel-scrub", "End the pass", "scrub/cancel"),
    ),
  ];
}

const SHOWN_USERS = 3;

/** The first users of a limit, and how many more there are. */
function usersOf(users) {
  const more = users.length - SHOWN_USERS;
  return (users.slice(0, SHOWN_USERS).join(", ") || "nobody now") + (more > 0 ? ` and ${count(more)} more` : "");
}

/** The limit in a field; what is no number in digits is refused, as 0 is no limit, and browsers make "" of "5e". */
function limitIn(field) {
  const text = field.value.trim();
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new Error(`${field.ariaLabel}: ${text ? `"${text}" is no number in digits` : "a number is missing"}; nothing is changed`);
  return Number(text);
}

/** A limit as it has been understood. */
const understood = ({ entriesPerSecond, bytesPerSecond }) =>
  [entriesPerSecond && `${count(entriesPerSecond)} entries/s`, bytesPerSecond && `${bytes(bytesPerSecond)}/s`]
    .filter(Boolean)
    .join(" and ") || "no limit";

/** The limits: numbers follow the stream, but not those in a row that is being edited. */
function limitsTable(act) {
  const element = h("div");
  const rows = new Map();
  function rowOf(name) {
    const entries = h("input", {
      inputmode: "decimal",
      id: `entries-${name}`,
      "aria-label": `${name}: entries a second, 0 for no limit`,
    });
    const size = h("input", {
      inputmode: "decimal",
      id: `bytes-${name}`,
      "aria-label": `${name}: bytes a second, 0 for no limit`,
    });
    const used = h("td"),
      edited = () => row.contains(document.activeElement) || row.dataset.edited;
    const set = () =>
      act(async () => {
        const limiters = { [name]: { entriesPerSecond: limitIn(entries), bytesPerSecond: limitIn(size) } };
        await send("PUT", `${API}/throttles`, { limiters });
        delete row.dataset.edited;
      });
    const row = h(
      "tr",
      null,
      h("th", { scope: "row" }, name),
      h("td", null, entries),
      h("td", null, size),
      h("td", null, h("button", { id: `set-${name}`, onclick: set }, "Set")),
      used,
    );
    row.addEventListener("input", () => {
      row.dataset.edited = "yes";
    });
    return {
      row,
      update(limit) {
        used.textContent =
          `${understood(limit)}; ${count(limit.grantedEntries)} entries and ${bytes(limit.grantedBytes)} granted, ` +
          `waited ${limit.waitedSeconds} s, ${limit.waiters} waiting; ` +
          `used by ${usersOf(limit.users)}`;
        if (!edited()) {
          entries.value = limit.entriesPerSecond;
          size.value = limit.bytesPerSecond;
        }
      },
    };
  }
  return {
    element,
    update({ limiters }) {
      if (!limiters) return;
      if ([...rows.keys()].join() !== Object.keys(limiters).join()) {
        rows.clear();
        for (const name of Object.keys(limiters)) rows.set(name, rowOf(name));
        const head = ["limit", "entries/s", "bytes/s", "", "use"].map((title) => h("th", { scope: "col" }, title));
        element.replaceChildren(
          h(
            "table",
            null,
            h("caption", null, "0 is no limit; a change lasts until the process ends"),
            h("thead", null, h("tr", null, head)),
            h(
              "tbody",
              null,
              [...rows.values()].map((each) => each.row),
            ),
          ),
        );
      }
      for (const [name, limit] of Object.entries(limiters)) rows.get(name).update(limit);
    },
  };
}

export const logs = {
  title: "Entry logs",
  open(root, { act }) {
    const place = h("div", { role: "status" }, "measuring");
    root.append(place);
    const ask = async () => {
      const first = await get("/api/v1/console/entry_logs");
      const unmeasured = first.directories.filter((each) => each.reason);
      if (unmeasured.length) setTimeout(() => place.isConnected && act(ask), ASK_AGAIN_MS);
      const table = new LongTable(
        "Entry logs that get no more entries",
        [
          ["directory", (row) => row[0]],
          ["log", (row) => row[1].toString(16)],
          ["bytes", (row) => bytes(row[2]), true],
          ["live", (row) => bytes(row[3]), true],
          ["dead", (row) => bytes(row[2] - row[3]), true],
          ["live share", (row) => percent(row[3], row[2]), true],
        ],
        async () => {
          if (table.rows.length >= first.logs) return false;
          table.append(
            (await get(`/api/v1/console/entry_logs?page=${Math.floor(table.rows.length / 1000) + 1}`)).page,
          );
          return true;
        },
      );
      const gain = (each) =>
        `would free ${bytes(each.freed)} of ${count(each.logs)} logs and copy ${bytes(each.copied)}`;
      const obstacles = (each) =>
        each.obstacles.map((reason) => h("strong", { class: "warn obstacle" }, ` IN THE WAY: ${reason}`));
      place.replaceChildren(
        ...unmeasured.map(notMeasured),
        facts([
          [
            "entry logs",
            `${count(first.logs)}, ${bytes(first.bytes)}: ${bytes(first.live)} live, ` +
              `${bytes(first.bytes - first.live)} dead`,
          ],
          ["a major compaction", [h("strong", { id: "gain-major" }, gain(first.major)), ...obstacles(first.major)]],
          ["a minor compaction", [gain(first.minor), ...obstacles(first.minor)]],
          ...leftOut(first.leftOut || []),
          [
            "a collection alone",
            [`deletes logs without live bytes: ${bytes(first.deletable)}`, ...obstacles({ obstacles: [], ...first })],
          ],
          ["deleted ledgers", h("span", { id: "deleted-ledgers" }, ...deletedLedgers(first.deletedLedgers))],
        ]),
        space(first),
        h(
          "p",
          null,
          h(
            "button",
            { onclick: () => act(() => send("PUT", `${API}/gc`, { forceMajor: true, forceMinor: true })) },
            "Collect and compact now",
          ),
        ),
        table.element,
      );
      table.set(first.page);
    };
    act(ask);
    return null;
  },
};

/** The damaged logs that no compaction copies, with why. */
const leftOut = (logs) => {
  if (!logs.length) return [];
  const row = (each) => h("div", { class: "bad left-out" }, `${each.directory}: ${each.log}: ${each.reason}`);
  const rest = logs.length > SHOWN_JOBS ? `and ${count(logs.length - SHOWN_JOBS)} more` : "";
  return [["left out as damaged, until a scrub has found all well", [...logs.slice(0, SHOWN_JOBS).map(row), rest]]];
};

/** Why the logs of a directory could not be measured now, and how old their numbers are. */
function notMeasured({ directory, measured, reason }) {
  const age = measured ? `its numbers are of ${ago(measured)}` : "its logs were not measured before, so they are missing";
  return h("p", { class: "warn unmeasured" }, `${directory}: ${reason}; ${age}`);
}

/** What is known of ledgers that are deleted in metadata and not yet here. */
function deletedLedgers({ count: number, read, unreadSince, reason }) {
  const known = read
    ? `${count(number)} are deleted in metadata (read ${ago(read)}): they count as dead, and the next collection deletes them`
    : "those that collections have deleted count as dead";
  const later = `metadata cannot be read since ${time(unreadSince)}: ${reason}; what was deleted since then is not counted`;
  return unreadSince ? [`${known}; `, h("strong", { class: "warn" }, later)] : [known];
}

/** Live and dead space of each log as a column; of many logs, neighbours share a column. */
function space(answer) {
  const width = 900,
    height = 110,
    rows = answer.page;
  if (!rows.length) return h("p", { class: "quiet" }, "no log is sealed yet");
  const columns = Math.min(rows.length, 300),
    step = width / columns,
    most = Math.max(...rows.map((row) => row[2]), 1);
  const bars = [];
  for (let at = 0; at < columns; at += 1) {
    const part = rows.slice(Math.floor((at * rows.length) / columns), Math.floor(((at + 1) * rows.length) / columns));
    const size = part.reduce((sum, row) => sum + row[2], 0) / part.length,
      live = part.reduce((sum, row) => sum + row[3], 0) / part.length;
    const all = (height * size) / most,
      alive = (height * live) / most,
      x = at * step,
      inner = Math.max(step - 1, 1);
    bars.push(
      svg("rect", { class: "dead", x, width: inner, y: height - all, height: all - alive }),
      svg("rect", { class: "live", x, width: inner, y: height - alive, height: alive }),
    );
  }
  return picture(width, height, `Live (green) and dead (orange) bytes of ${rows.length} entry logs`, bars);
}

export const disk = {
  title: "Who holds this disk?",
  open(root, { state }) {
    const found = h("div", { role: "status", id: "holders" }, "waiting for the bookie");
    let begun = false;
    root.append(found);
    return {
      update({ work: value }) {
        if (begun || !value) return;
        begun = true;
        found.replaceChildren(
          ...Object.keys(value.collection.directories).map((directory) => {
            const place = h("div", null, "counting");
            const disk = (state.bookie?.disks || []).find((each) => directory.startsWith(`${each.directory}/`));
            countLedgers(directory, place, disk).catch((error) => {
              place.replaceChildren(h("p", { class: "bad" }, `its ledgers cannot be counted: ${error.message}`));
            });
            return h("section", null, h("h3", null, directory), place);
          }),
        );
      },
    };
  },
};

/** What the disk of a directory has beside its entry logs: indexes, journals, and files of others. */
const besides = (disk, all) =>
  disk && !disk.reason
    ? ` The disk has ${bytes(disk.total - disk.free)} used of ${bytes(disk.total)}: ` +
      `${bytes(Math.max(disk.total - disk.free - all, 0))} are other files, such as indexes, journals and those of others.`
    : "";

/** What becomes of the bytes of a deleted ledger. */
function fate(size, freed, stays) {
  const free = "a collection with compaction frees";
  if (freed >= size) return `${free} it`;
  return freed ? `${free} ${bytes(freed)}; ${bytes(size - freed)} stay ${stays}` : `its bytes stay ${stays}`;
}

async function countLedgers(directory, place, disk) {
  const totals = new Map(),
    freed = new Map();
  let after = -1,
    logsSeen = 0,
    stays = "";
  do {
    const answer = await get(
      `/api/v1/console/disk_ledgers?directory=${encodeURIComponent(directory)}&after=${after}`,
    );
    for (const [sums, sizes] of [[totals, answer.ledgers], [freed, answer.freed]])
      for (const [id, size] of Object.entries(sizes)) sums.set(id, (sums.get(id) || 0) + size);
    stays = answer.stays;
    logsSeen += answer.logs;
    after = answer.next;
    place.textContent = `${count(logsSeen)} entry logs counted, ${count(answer.left)} left`;
  } while (after !== null && place.isConnected);
  const all = [...totals.values()].reduce((sum, each) => sum + each, 0);
  const top = [...totals].sort((one, other) => other[1] - one[1]).slice(0, 50);
  const ownerWith = async ([id, size]) => [id, await ownerOf(id, fate(size, freed.get(id) || 0, stays))];
  const owners = new Map(await Promise.all(top.map(ownerWith)));
  place.replaceChildren(
    h("p", null, `${count(totals.size)} ledgers hold ${bytes(all)} in ${count(logsSeen)} entry logs.${besides(disk, all)}`),
    smallTable(
      "The largest",
      [
        ["ledger", ([id]) => h("a", { href: `#/ledger?id=${id}` }, id)],
        ["bytes here", ([, size]) => bytes(size), true],
        ["share", ([, size]) => percent(size, all), true],
        ["state", ([id]) => owners.get(id)[0]],
        ["whose", ([id]) => owners.get(id)[1]],
      ],
      top,
    ),
  );
}

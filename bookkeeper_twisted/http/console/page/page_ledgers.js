// The search for ledgers, one ledger, and one entry on all of its bookies.

import { get } from "/console/connection.js";
import { facts, h, picture, smallTable, svg } from "/console/elements.js";
import { ago, bytes, count, ensembleOf, replicas, time, undecoded } from "/console/format.js";
import { LongTable } from "/console/table.js";

const NAMES = ["id", "bookie", "state", "key", "value"];

/** Metadata do not tell whether the writer of a ledger, or who recovers it, is still alive. */
const NOT_CLOSED = {
  OPEN: "not closed: a writer may have it open",
  IN_RECOVERY: "not closed: a recovery has begun that has not ended; it may be at work",
};

/** A text of somebody else, in which what cannot be seen, or turns the text around it, is written out. */
const seen = (text) =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (each) => `\\u${each.codePointAt(0).toString(16).padStart(4, "0")}`);

const custom = (row) =>
  Object.entries(row.custom)
    .map(([key, value]) => `${seen(key)}=${seen(value)}`)
    .join(", ");

const isEmpty = (row) => row.state === "CLOSED" && Number(row.last) < 0;

// An id above 2^53 comes as text, as a number of JavaScript cannot hold it.
const entriesOf = (row) => count(BigInt(row.last) + 1n);

const replicasOf = (row) => (isEmpty(row) ? "it has no entry" : `${replicas(row)} of ${row.writeQuorum}`);

/** An answer; if there is none, the message above the page says why, and the place of the answer stays empty. */
async function read(place, path) {
  try {
    return await get(path);
  } catch (error) {
    place.replaceChildren();
    throw error;
  }
}

/** The state of a ledger and whose it is, as [state, owner]; each is a text or an element; `deleted` is its bytes' fate. */
export async function ownerOf(id, deleted) {
  try {
    const found = await get(`/api/v1/console/ledger?ledger_id=${id}`);
    return [found.state, h("span", { class: "long" }, custom(found))];
  } catch (error) {
    // Only this answer says that the ledger is deleted; without one, or with any other, nothing is known of it.
    if (error.status === 404 && error.message.endsWith(`ledger ${id} does not exist`))
      return [h("span", { class: "warn" }, `deleted: ${deleted}`), ""];
    return ["unknown", h("span", { class: "bad" }, `unknown, as it cannot be read: ${error.message}`)];
  }
}

export const ledgers = {
  title: "Ledgers",
  open(root, { act, parameters }) {
    const field = (name, label, more) =>
      h("label", null, label, h("input", { name, value: parameters.get(name), ...more }));
    const states = ["", "open", "in_recovery", "closed"].map((each) =>
      h("option", { value: each, selected: each === (parameters.get("state") || "") }, each || "any"),
    );
    const search = (event) => {
      event.preventDefault();
      const given = new FormData(event.target),
        wanted = new URLSearchParams();
      if (given.get("id").trim()) {
        location.hash = `#/ledger?id=${given.get("id").trim()}`;
        return;
      }
      for (const name of NAMES) if (given.get(name)) wanted.set(name, given.get(name));
      location.hash = `#/ledgers?${wanted}`;
    };
    const seen = h("p", { role: "status", class: "quiet", id: "seen" });
    root.append(
      h(
        "form",
        { class: "search", onsubmit: search, role: "search" },
        field("id", "Id", { inputmode: "numeric", pattern: " *[0-9]* *" }),
        field("bookie", "Bookie"),
        h("label", null, "State", h("select", { name: "state" }, states)),
        field("key", "Metadata key"),
        field("value", "Value begins with"),
        h("button", null, "Search"),
      ),
      h(
        "form",
        {
          class: "search",
          onsubmit: (event) => {
            event.preventDefault();
            act(() => group(new FormData(event.target), groups));
          },
        },
        h("label", null, "Group by metadata key", h("input", { name: "key", required: true })),
        h("label", null, "Parts of the value", h("input", { name: "depth", type: "number", min: 0, value: 0 })),
        h("button", null, "Group"),
      ),
      seen,
    );
    const groups = h("div", { role: "status" });
    const wanted = new URLSearchParams([...parameters].filter(([name]) => NAMES.includes(name) && name !== "id"));
    let after = -1,
      scanned = 0;
    const unknown = [];
    const table = new LongTable(
      "Ledgers in the order of their ids",
      [
        ["ledger", (row) => h("a", { href: `#/ledger?id=${row.id}` }, String(row.id))],
        ["state", (row) => row.state],
        ["bytes", (row) => (row.state === "CLOSED" ? bytes(row.length) : "not closed"), true],
        ["entries", (row) => (row.state === "CLOSED" ? entriesOf(row) : ""), true],
        ["replicas left", replicasOf, true],
        ["created", (row) => time(row.ctime)],
        ["bookies", ensembleOf],
        ["custom metadata: whose it is", custom],
      ],
      async () => {
        if (after === null || !root.contains(table.element)) return false;
        if (after === -1) seen.textContent = "reading";
        const answer = await act(() => get(`/api/v1/console/ledgers?after=${after}&${wanted}`));
        if (!answer) {
          if (after === -1) seen.textContent = "the ledgers cannot be read";
          return false;
        }
        after = answer.next;
        scanned += answer.scanned;
        unknown.push(...answer.undecoded);
        table.rows.push(...answer.ledgers);
        const all = after === null ? ", all" : "";
        const note = unknown.length ? `; ${undecoded(unknown)}` : "";
        seen.textContent = `${count(table.rows.length)} found, ${count(scanned)} looked at${all}${note}`;
        queueMicrotask(() => setTimeout(() => table.draw()));
        return after !== null;
      },
    );
    root.append(groups, table.element);
    table.set([]);
    return null;
  },
};

async function group(given, place) {
  const totals = new Map(),
    unknown = [];
  let after = -1,
    scanned = 0;
  const query = new URLSearchParams({ key: given.get("key"), depth: given.get("depth") || "0" });
  while (after !== null && place.isConnected) {
    const answer = await get(`/api/v1/console/ledger_groups?${query}&after=${after}`);
    for (const [name, add] of Object.entries(answer.groups)) {
      const sum = totals.get(name) || { ledgers: 0, open: 0, bytes: 0 };
      for (const part of Object.keys(sum)) sum[part] += add[part];
      totals.set(name, sum);
    }
    scanned += answer.scanned;
    unknown.push(...answer.undecoded);
    after = answer.next;
    const note = unknown.length ? `; ${undecoded(unknown)}` : "";
    const rows = [...totals].sort((one, other) => other[1].bytes - one[1].bytes).slice(0, 200);
    place.replaceChildren(
      smallTable(
        `Groups of ${given.get("key")}, ${count(scanned)} ledgers looked at${after === null ? ", all" : ""}${note}`,
        [
          ["value", ([name]) => name || "(none)"],
          ["ledgers", ([, sum]) => count(sum.ledgers), true],
          ["open", ([, sum]) => count(sum.open), true],
          ["bytes of all replicas, without open ledgers", ([, sum]) => bytes(sum.bytes), true],
        ],
        rows,
      ),
    );
  }
}

export const ledger = {
  title: "Ledger",
  open(root, { act, parameters }) {
    const id = parameters.get("id"),
      place = h("div", { role: "status", id: "ledger" }, "reading");
    root.append(place);
    act(async () => {
      const found = await read(place, `/api/v1/console/ledger?ledger_id=${encodeURIComponent(id)}`);
      document.getElementById("title").textContent = `Ledger ${id}`;
      place.replaceChildren(
        found.mark
          ? h(
              "p",
              { class: "bad", id: "why" },
              `Under-replicated since ${ago(found.mark.since)}: ${found.mark.reason}`,
            )
          : h("p", { class: LEVELS[found.unmarked.level], id: "why" }, found.unmarked.text),
        facts([
          ["state", found.state],
          ["quorums", `ensemble ${found.ensemble}, write ${found.writeQuorum}, ack ${found.ackQuorum}`],
          ["replicas left", replicasOf(found)],
          [
            "size",
            found.state === "CLOSED"
              ? `${bytes(found.length)}, ${entriesOf(found)} entries`
              : NOT_CLOSED[found.state],
          ],
          ["created", time(found.ctime)],
          ["digest", found.digest],
          ["custom metadata", custom(found) || "none"],
        ]),
        ...ensembles(found),
        askForEntry(id, "0"),
      );
    });
    return null;
  },
};

const SHOWN_SEGMENTS = 100;
const GONE = ["unavailable", "does not answer"];

/** Which of the segments are drawn: of many, half of the places are for those that lack bookies, the rest for the last. */
function chosenOf(found) {
  const all = found.segments;
  if (all.length <= SHOWN_SEGMENTS) return [all, ""];
  const lacking = all.filter(([, bookies]) => bookies.some((id) => GONE.includes(found.states[id])));
  const chosen = new Set([...lacking.slice(0, SHOWN_SEGMENTS / 2), ...all.slice(-SHOWN_SEGMENTS / 2)]);
  const lack = `${count(lacking.length)} with bookies that are unavailable or do not answer`;
  const shown = all.filter((each) => chosen.has(each));
  return [shown, `, ${lack}: the first of those and the last of all, ${count(all.length - shown.length)} are left out`];
}

/** The bookies of all segments that are unavailable or do not answer, each with the first segment that it is in. */
function lackingBookies({ segments, states }) {
  const found = new Map();
  for (const [first, bookies] of segments)
    for (const id of bookies.filter((each) => GONE.includes(states[each]))) {
      const [since, number] = found.get(id) || [first, 0];
      found.set(id, [since, number + 1]);
    }
  return [...found].map(([id, [since, number]]) => {
    const inThem = number === 1 ? "one ensemble, that" : `${count(number)} ensembles, the first one`;
    return `${id} (${states[id]}) is in ${inThem} from entry ${since} on`;
  });
}

/** Segments as rows, bookies as boxes: green if writable, orange if read-only, red if unavailable or silent. */
function ensembles(found) {
  const width = 150,
    height = 22,
    left = 130;
  const kind = { writable: "live", "read-only": "dead", unavailable: "gone", "does not answer": "gone" };
  const [shown, note] = chosenOf(found);
  const rows = shown.map(([first, bookies], row) => [
    svg("text", { x: 0, y: row * height + 15 }, `from ${first}`),
    bookies.map((id, column) => [
      svg("rect", {
        class: kind[found.states[id]],
        x: left + column * width,
        y: row * height + 3,
        width: 8,
        height: 14,
      }),
      svg("text", { x: left + column * width + 13, y: row * height + 15 }, id),
    ]),
  ]);
  const described = ([first, bookies]) =>
    `from entry ${first}: ${bookies.map((id) => `${id} ${found.states[id]}`).join(", ")}`;
  const title = `Ensembles: ${shown.map(described).join("; ")}`;
  return [
    h("h3", null, `Ensembles (${count(found.segments.length)}${note})`),
    ...lackingBookies(found).map((text) => h("p", { class: "bad" }, text)),
    picture(left + width * found.ensemble, height * shown.length, title, rows),
  ];
}

function askForEntry(ledgerId, entryId) {
  const go = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    location.hash = `#/entry?ledger=${given.get("ledger").trim()}&entry=${given.get("entry").trim()}`;
  };
  const digits = { inputmode: "numeric", pattern: " *[0-9]+ *", required: true };
  return h(
    "form",
    { class: "search", onsubmit: go },
    h("label", null, "Ledger", h("input", { name: "ledger", value: ledgerId, ...digits })),
    h("label", null, "Entry", h("input", { name: "entry", value: entryId, ...digits })),
    h("button", null, "Compare its replicas"),
  );
}

/** The bookies that have an entry, or should have it. */
function writeSetOf(found, entryId) {
  const at = BigInt(entryId),
    [, bookies] = found.segments.findLast(([first]) => BigInt(first) <= at);
  return Array.from({ length: found.writeQuorum }, (_, n) => bookies[Number((at + BigInt(n)) % BigInt(found.ensemble))]);
}

const LEVELS = { good: "good", bad: "bad", unknown: "warn" };

export const entry = {
  title: "Is this entry the same on all replicas?",
  open(root, { act, parameters }) {
    const ledgerId = parameters.get("ledger"),
      entryId = parameters.get("entry");
    const place = h("div", { role: "status", id: "replicas" });
    root.append(askForEntry(ledgerId || "", entryId || "0"), place);
    if (ledgerId !== null && entryId !== null) {
      const asking = h("p", null, "reading it from all of its bookies");
      place.append(asking);
      get(`/api/v1/console/ledger?ledger_id=${encodeURIComponent(ledgerId)}`)
        .then((found) => {
          asking.textContent = `asking ${writeSetOf(found, entryId).join(", ")}; one that does not answer is waited for`;
        })
        .catch(() => {}); // the answer about the entry says why, too
      act(async () => {
        const found = await read(
          place,
          `/api/v1/console/entry?ledger_id=${encodeURIComponent(ledgerId)}&entry_id=${encodeURIComponent(entryId)}`,
        );
        place.replaceChildren(
          h("p", { id: "same" }, h("strong", { class: LEVELS[found.level] }, found.verdict)),
          smallTable(
            "Replicas",
            [
              ["bookie", (row) => row.bookie],
              ["digest", (row) => h("span", { class: LEVELS[row.level] }, row.verdict)],
              ["bytes", (row) => (row.size === null ? "" : count(row.size)), true],
              ["same", (row) => row.difference],
              ["LAC", (row) => row.lac ?? "", true],
              ["ledger bytes", (row) => row.length ?? "", true],
            ],
            found.replicas,
          ),
          ...contents(found.replicas),
        );
      });
    }
    return null;
  },
};

/** Each different payload one time, as text, as JSON if it is JSON, and as hex. */
function contents(replicas) {
  const byHex = new Map();
  for (const row of replicas) if (row.hex !== null) byHex.set(row.hex, [...(byHex.get(row.hex) || []), row]);
  return [...byHex].map(([hex, rows]) => {
    const data = new Uint8Array((hex.match(/../g) || []).map((pair) => parseInt(pair, 16)));
    const text = new TextDecoder().decode(data);
    let json = null;
    try {
      // With many digits, JavaScript would show another number than the one of the entry.
      json = /\d{16}/.test(text) ? null : JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      /* it is no JSON */
    }
    const views = [
      ["text", text],
      ...(json === null ? [] : [["JSON", json]]),
      ["hex", dump(data, rows[0].differsAt)],
    ];
    const cut = rows[0].size > data.length ? `, the first ${count(data.length)} bytes` : "";
    return h(
      "section",
      null,
      h("h3", null, `${rows.map((row) => row.bookie).join(", ")}${cut}`),
      views.map(([name, value], at) =>
        h("details", { open: at === 0 }, h("summary", null, name), h("pre", { tabindex: 0 }, value)),
      ),
    );
  });
}

function dump(data, differsAt) {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, 16384); at += 16) {
    const row = [...data.slice(at, at + 16)];
    const mark = differsAt !== null && differsAt >= at && differsAt < at + 16 ? " <- differs" : "";
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(
      `${at.toString(16).padStart(6, "0")}  ${row
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join(" ")
        .padEnd(48)} ${text}${mark}`,
    );
  }
  return lines.join("\n");
}

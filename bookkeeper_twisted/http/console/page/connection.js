// Requests to the server, and the stream of events.

import { time } from "/console/format.js";

const TOKEN = "console-token";
const RETRY_MS = 2000;
const SILENT_MS = 15000; // three heartbeats of the stream: KEEP_ALIVE in feed.py
const LOOK_MS = 1000;
const USUAL_END_MS = 60000; // a stream that lasted longer is ended by the server as usual: MOST_SECONDS in stream.py

export class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

function headers(more) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
}

/** Asks for a token; resolves when the user has given one. */
function login(reason) {
  const dialog = document.getElementById("login"),
    input = document.getElementById("token");
  document.getElementById("login-reason").textContent = reason;
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        if (input.value) sessionStorage.setItem(TOKEN, input.value.trim());
        input.value = "";
        resolve();
      },
      { once: true },
    );
    if (!dialog.open) dialog.showModal();
  });
}

async function reasonOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).reason || text;
  } catch {
    return text;
  }
}

async function request(method, path, options) {
  for (;;) {
    const answer = await fetch(path, { method, cache: "no-store", ...options, headers: headers(options?.headers) });
    if (answer.status === 401) {
      await login(await reasonOf(answer));
      continue;
    }
    if (!answer.ok) throw new RequestError(answer.status, await reasonOf(answer));
    return answer;
  }
}

export const get = async (path) => (await request("GET", path)).json();

export async function send(method, path, body) {
  const answer = await request(method, path, body === undefined ? {} : { body: JSON.stringify(body) });
  return answer.text();
}

export async function download(path, name) {
  const blob = await (await request("GET", path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const RECORDS = 600;

/** A state of which only changed rows were sent. */
function withRows(known, { rowsOf, changed, gone, rest }) {
  const rows = { ...known[rowsOf], ...changed };
  for (const id of gone) delete rows[id];
  return { ...rest, [rowsOf]: rows };
}

/** What the server sends of a part that it cannot read. */
const isUnread = (value) => typeof value?.error === "string" && Object.keys(value).length === 1;

const ABOUT_PARTS = ["failures", "waits", "late", "whyLate"];

/** Marks what a snapshot does not have as old: the server has not read it since the connection came back. */
function forgetEarlier(state, data) {
  const now = Date.now() / 1000;
  for (const name of ["late", "whyLate"]) delete state[name];
  state.waits ??= {};
  for (const name of Object.keys(state))
    if (!ABOUT_PARTS.includes(name) && !(name in data) && state[name] !== null) state.waits[name] ??= now;
}

/**
 * Puts an event into the state of the page: states, or their changed rows, are replaced, records appended.
 *
 * Of a part that the server cannot read, what was known stays; why it is old is under its name in state.failures.
 */
export function merge(state, kind, data) {
  state.failures ??= {};
  if (kind === "snapshot") forgetEarlier(state, data);
  for (const [name, value] of Object.entries(data)) {
    const known = state[name];
    if (isUnread(value)) {
      state.failures[name] = { error: value.error, since: state.failures[name]?.since ?? Date.now() / 1000 };
      state[name] = known ?? null;
      continue;
    }
    delete state.failures[name];
    delete state.waits?.[name];
    if (value?.rowsOf) {
      state[name] = withRows(known, value);
      continue;
    }
    const isRecords =
      Array.isArray(value) && value.every((each) => each && typeof each === "object" && "records" in each);
    if (!isRecords || kind === "snapshot" || !known || !value.length) {
      state[name] = value;
      continue;
    }
    state[name] = value.map((ring, index) => {
      const before = known[index] || { last: 0, records: [] };
      const fresh = ring.last - before.last;
      const added = fresh > 0 ? ring.records.slice(-fresh) : [];
      return { last: ring.last, records: [...before.records, ...added].slice(-RECORDS) };
    });
  }
}

/** Waits before the next attempt to connect: while the page is hidden until it is shown again, else for two seconds. */
function pause() {
  return new Promise((resolve) => {
    if (document.hidden) document.addEventListener("visibilitychange", resolve, { once: true });
    else setTimeout(resolve, RETRY_MS);
  });
}

/**
 * Reads the stream for ever; after an interruption it goes on behind the last event.
 *
 * The server sends something every few seconds, even without a change.  When nothing has come for SILENT_MS, what the
 * page shows is old, and the connection is given up for another one: a dead one would stay silent for ever.
 *
 * @param onEvent gets the kind and the data of each event.
 * @param onLink gets a text about the connection; an empty one if all is well.
 */
export async function follow(onEvent, onLink) {
  let last = "",
    leaving = new AbortController(),
    heardAt = Date.now(),
    begunAt = heardAt,
    trouble = "",
    isCut = false,
    told = "";
  function tell() {
    const isOld = isCut || Date.now() - heardAt >= SILENT_MS;
    const text = [isOld ? `what is shown is OLD: it is of ${time(heardAt / 1000)}` : "", trouble].filter(Boolean).join("; ");
    if (text !== told) onLink(text);
    told = text;
  }
  function heard() {
    heardAt = begunAt = Date.now();
    trouble = "";
    isCut = false;
    tell();
  }
  setInterval(() => {
    tell();
    if (Date.now() - begunAt >= SILENT_MS) leaving.abort(new Error("the server does not answer"));
  }, LOOK_MS);
  // A browser has only six connections to a host.  A hidden page, and one that is kept for the back button, must not
  // keep one of them: with six such pages, no other page of this host could be loaded.
  window.addEventListener("pagehide", () => leaving.abort());
  document.addEventListener("visibilitychange", () => document.hidden && leaving.abort());
  for (;;) {
    if (leaving.signal.aborted) leaving = new AbortController();
    begunAt = Date.now();
    try {
      const more = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const answer = await request("GET", "/api/v1/console/stream", { headers: more, signal: leaving.signal });
      const connectedAt = Date.now();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        heard();
        const events = (held + value).split("\n\n");
        held = events.pop();
        for (const event of events) last = dispatch(event, onEvent) || last;
      }
      if (Date.now() - connectedAt >= USUAL_END_MS) continue;
      trouble = "the server has ended the connection; connecting again";
    } catch (error) {
      isCut ||= last !== "" && !document.hidden; // who refuses a connection has ended, or cannot be reached: all is old
      trouble = document.hidden ? "paused while the page is hidden" : `not connected: ${error.message}; trying again`;
    }
    tell();
    await pause();
  }
}

function dispatch(event, onEvent) {
  const fields = {};
  for (const line of event.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  if (fields.data) onEvent(fields.event, JSON.parse(fields.data));
  return fields.id;
}

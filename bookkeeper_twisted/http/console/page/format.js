// Numbers and times as text.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(value) {
  if (value === null || value === undefined) return "unknown";
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit ? value.toFixed(value < 10 ? 1 : 0) : value} ${UNITS[unit]}`;
}

// One formatter for all numbers and times: to make one costs a hundred times what it takes to use it.
const numbers = new Intl.NumberFormat("en"),
  clocks = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }),
  dates = new Intl.DateTimeFormat("en-CA");

export const count = (value) => (value === null || value === undefined ? "unknown" : numbers.format(value));

export const millis = (value) =>
  value === null || value === undefined ? "" : `${value.toFixed(value < 10 ? 2 : 0)} ms`;

export const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "");

/** A time of the local clock; the date is left out if it is today. */
export function time(seconds) {
  if (!seconds) return "unknown";
  const at = new Date(seconds * 1000),
    now = new Date();
  const clock = clocks.format(at);
  return at.toDateString() === now.toDateString() ? clock : `${dates.format(at)} ${clock}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

/** A time and how long ago it was; clocks differ, and that of the server may have been set back. */
export function ago(seconds) {
  if (!seconds) return "before the console was opened";
  const past = Date.now() / 1000 - seconds;
  if (past < -1.5) return `${time(seconds)} (${duration(-past)} ahead of this browser's clock)`;
  return `${time(seconds)} (${duration(Math.max(past, 0))} ago)`;
}

/** Why a part of the state is not read now, so that what is known of it is old; empty if it is read. */
export function unread(state, name) {
  const failure = state.failures?.[name],
    late = state.late?.[name],
    waits = state.waits?.[name],
    why = state.whyLate?.[name];
  if (failure) return `cannot be read since ${time(failure.since)}: ${failure.error}`;
  if (late) return `cannot be read: reading it takes since ${time(late)}${why ? ` (${why})` : ""}`;
  return waits ? `was not read again yet: the connection came back at ${time(waits)}` : "";
}

/** The state of a bookie: one that does not answer is not what its registration says. */
export const stateOf = (row) => (row.why ? "does not answer" : row.state);

/** A reason to be read-only, and since when it holds; one that held at the start of the bookie may be older. */
export const reason = (each) => `${each.text}, since ${each.atLeast ? "at least " : ""}${ago(each.since)}`;

/** When a disk is full, by the growth of which time; before that, a warning if something else of it is used up. */
export const days = (disk) =>
  (disk.warning ? `${disk.warning}; ` : "") + untilFull(disk) + (disk.forecast ? ` (${disk.forecast})` : "");

/** The warnings about the disks of this bookie, for the line that says what is wrong. */
export const warnings = (disks) =>
  disks
    .map((each) => [each, each.warning || (each.journal && each.reason ? `cannot be measured: ${each.reason}` : "")])
    .filter(([, text]) => text)
    .map(([each, text]) => `DISK ${directoryOf(each)}: ${text}`);

/** The directory of a disk, and what it has, if that is not entry logs. */
export const directoryOf = (disk) => disk.directory + (disk.journal ? " (journal)" : disk.index ? " (index)" : "");

function untilFull(disk) {
  if (disk.reason) return `cannot be measured: ${disk.reason}`;
  if (disk.daysUntilFull === 0) return "full now";
  if (disk.daysUntilFull !== null && disk.daysUntilFull < 2) return `full in ${duration(disk.daysUntilFull * 86400)}`;
  if (disk.daysUntilFull !== null) return `full in ${disk.daysUntilFull.toFixed(1)} days`;
  return disk.growthPerDay === null ? "not known before half an hour of samples" : "not filling";
}

/** How many replicas of a ledger are left; more if bookies have them that its mark names, or that do not answer. */
export const replicas = (row) =>
  `${row.replicas}${row.doubtful ? `, perhaps ${row.replicas + row.doubtful}` : ""}`;

/** The bookies of the last ensemble of a ledger, and some of any ensemble that are not there. */
export const ensembleOf = (row) =>
  `${row.bookies.join(", ")}${row.absent.length ? `; not there: ${row.absent.join(", ")}` : ""}`;

/** How many of the under-replicated ledgers have no replica; only those are looked at that can be read in time. */
export function unavailable(marks) {
  if (marks.count && !marks.lookedAt) return "unavailable: not known yet";
  const of = marks.lookedAt < marks.count ? `the first ${count(marks.lookedAt)} looked at` : "them";
  const more =
    (marks.doubtful ? `, and ${count(marks.doubtful)} more if their marks still hold` : "") +
    (marks.unwritten ? `, and ${count(marks.unwritten)} more if they have entries, as they are not closed` : "");
  const unjudged = marks.unjudged ? ` (${marks.unjudged})` : "";
  return `${count(marks.unavailable)} of ${of} unavailable${more}${unjudged}`;
}

/** The number of marked ledgers in a sample of the cluster; those of very many are counted for a bounded time only. */
export const marksOf = (cluster) => (cluster.moreMarked ? "at least " : "") + count(cluster.marked);

/** The number of marked ledgers, as the newest sample of the cluster has it; how many are unavailable is read rarely. */
export function underReplicated(state) {
  const marked = state.cluster?.marked,
    marks = state.repair;
  if (marked === undefined)
    return `under-replicated: ${state.cluster?.unread ? `cannot be read: ${state.cluster.unread}` : "not known yet"}`;
  const why = state.cluster.marksAlone ? ` by marks alone, as ${state.cluster.marksAlone}` : "";
  const text = `${marksOf(state.cluster)} ${marked === 1 ? "ledger" : "ledgers"} under-replicated${why}`;
  if (!marked) return text;
  if (!marks?.count) return `${text}, unavailable: ${unread(state, "repair") || "not known yet"}`;
  return `${text}, ${unavailable(marks)}${asOf(state)}`;
}

/** The time of what is said of the repair, if the cluster has been read since then, and has another number of marks. */
export const asOf = ({ cluster, repair }) =>
  cluster?.marked === undefined || !repair || cluster.marked === repair.count ? "" : ` as of ${time(repair.readAt)}`;

/** That some ledgers cannot be judged, by the list of their ids; empty if there are none. */
export function undecoded(ids) {
  if (!ids.length) return "";
  const [which, whose] = ids.length === 1 ? ["ledger", "its"] : ["ledgers", "their"];
  const first = ids.slice(0, 5).join(", ");
  return `${count(ids.length)} ${which} cannot be judged, as ${whose} metadata cannot be read or decoded, such as ledger ${first}`;
}

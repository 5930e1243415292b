// Under-replicated ledgers: why, who repairs them, and what limits the repair.

import { send } from "/console/connection.js";
import { facts, h, part, smallTable } from "/console/elements.js";
import { ago, count, marksOf, time, unavailable } from "/console/format.js";

const API = "/api/v1/autorecovery";

/** Links to the consoles of bookies that may have the workers; that of autorecovery is registered nowhere. */
const consolesOf = ({ consoles, elsewhere }) => {
  if (!elsewhere?.length) return [];
  const links = consoles?.length
    ? consoles.map((url) => [" ", h("a", { href: `${url}/console#/repair` }, url)])
    : [" ", h("a", { href: "#/bookies" }, "the consoles of all bookies")];
  return [" If a bookie's process has the worker:", ...links];
};

export const repair = {
  title: "Repair",
  open(root, { act }) {
    const shown = part((value) => {
      if (!value) return h("p", { class: "quiet" }, "waiting for the cluster");
      return [
        facts([
          ["What limits the repair?", [h("strong", { id: "limit" }, value.limit), ...consolesOf(value)]],
          ["autorecovery", value.enabled ? "enabled" : h("span", { class: "bad" }, "DISABLED")],
          ["auditor", value.auditor || h("span", { class: "bad" }, "none is elected, so no further ledger is marked")],
          ["under-replicated", `${marksOf({ ...value, marked: value.count })}, as read at ${time(value.readAt)}`],
          ["without a replica that can be read", unavailable(value)],
          ...(value.strays ? [["left out", value.strays]] : []),
        ]),
        smallTable(
          value.count > value.ledgers.length
            ? `Under-replicated ledgers, the first ${value.ledgers.length}`
            : "Under-replicated ledgers",
          [
            ["ledger", (row) => h("a", { href: `#/ledger?id=${row.id}` }, String(row.id))],
            ["state", (row) => row.state],
            ["since", (row) => (row.since === null ? "" : ago(row.since))],
            ["replicas left", (row) => count(row.replicas), true],
            ["missing", (row) => row.missing.join(", ")],
            ["why", (row) => row.reason],
          ],
          value.ledgers,
        ),
      ];
    });
    const button = (id, text, path) =>
      h("button", { id, onclick: () => act(() => send("PUT", `${API}/${path}`)) }, text);
    root.append(
      h(
        "p",
        null,
        button("enable", "Enable autorecovery", "status?enabled=true"),
        button("disable", "Disable autorecovery", "status?enabled=false"),
        button("audit", "Look for lost bookies now", "trigger_audit"),
      ),
      shown.element,
      h("p", null, "The speed of replication: ", h("a", { href: "#/work" }, "speed limits"), "."),
    );
    return { update: (state) => shown.update(state.repair) };
  },
};

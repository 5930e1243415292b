// Makes elements.  Texts are always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** A picture with a text for readers who do not see it. */
export function picture(width, height, title, ...children) {
  const viewBox = `0 0 ${width} ${height}`;
  return svg(
    "svg",
    { viewBox, width, height, role: "img", "aria-label": title },
    svg("title", null, title),
    ...children,
  );
}

/** A table of few rows.  A column is [title, function from a row to a text or an element, is it a number]. */
export function smallTable(caption, columns, rows, empty = "none") {
  if (!rows.length) return h("p", { class: "quiet" }, `${caption}: ${empty}`);
  const head = columns.map(([title, , number]) => h("th", { scope: "col", class: number ? "number" : null }, title));
  const body = rows.map((row) =>
    h(
      "tr",
      null,
      columns.map(([, cell, number]) => h("td", { class: number ? "number" : null }, cell(row))),
    ),
  );
  return h("table", null, h("caption", null, caption), h("thead", null, h("tr", null, head)), h("tbody", null, body));
}

/** Names and values. */
export const facts = (pairs) =>
  h(
    "dl",
    null,
    pairs.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );

/** A part of a page that is drawn again when what it shows has changed; the focus inside it stays. */
export function part(draw) {
  const element = h("div");
  let shown = "";
  return {
    element,
    update(...values) {
      const next = JSON.stringify(values);
      if (
        next === shown ||
        (element.contains(document.activeElement) && document.activeElement.matches("input, select"))
      )
        return;
      const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
      shown = next;
      element.replaceChildren(...[draw(...values)].flat(9).filter(Boolean));
      if (focused) document.getElementById(focused)?.focus();
    },
  };
}

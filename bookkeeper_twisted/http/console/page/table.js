// A table of many rows, of which only those in view are elements.

import { h } from "/console/elements.js";

const MORE_BEFORE = 40;

export class LongTable {
  /**
   * @param caption what the rows are.
   * @param columns of [title, function from a row to a text or an element, is it a number].
   * @param more loads further rows; resolves to false when there are none.
   */
  constructor(caption, columns, more = async () => false) {
    this.columns = columns;
    this.more = more;
    this.rows = [];
    this.loading = false;
    this.ended = false;
    this.height = 28;
    this.body = h("tbody");
    const head = columns.map(([title, , number]) =>
      h("th", { scope: "col", class: number ? "number" : null }, title),
    );
    this.table = h(
      "table",
      { "aria-rowcount": -1 },
      h("caption", null, caption),
      h("thead", null, h("tr", null, head)),
      this.body,
    );
    this.element = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, this.table);
    this.element.addEventListener("scroll", () => this.draw());
  }

  set caption(text) {
    const caption = this.table.caption;
    if (caption.textContent !== text) caption.textContent = text;
  }

  /** Shows other rows at the same place, as the old ones have changed. */
  replace(rows) {
    this.rows = rows;
    this.draw();
  }

  set(rows) {
    this.rows = rows;
    this.ended = false;
    this.element.scrollTop = 0;
    this.draw();
  }

  append(rows) {
    this.rows.push(...rows);
    this.draw();
  }

  draw() {
    const view = this.element.clientHeight || 512;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 5);
    const last = Math.min(this.rows.length, first + Math.ceil(view / this.height) + 10);
    const rows = this.rows.slice(first, last).map((row, index) => this.row(row, first + index));
    const focused = this.body.contains(document.activeElement) && document.activeElement.getAttribute("href");
    this.body.replaceChildren(this.space(first), ...rows, this.space(this.rows.length - last));
    if (focused) this.body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (rows.length) this.height = rows[0].offsetHeight || this.height;
    if (last > this.rows.length - MORE_BEFORE) this.load();
  }

  row(row, number) {
    const cells = this.columns.map(([, cell, isNumber]) => h("td", { class: isNumber ? "number" : null }, cell(row)));
    return h("tr", { "aria-rowindex": number + 2 }, cells);
  }

  space(count) {
    const cell = h("td", { colspan: this.columns.length });
    cell.style.height = `${count * this.height}px`;
    return h("tr", { class: "space", "aria-hidden": "true" }, cell);
  }

  async load() {
    if (this.loading || this.ended) return;
    this.loading = true;
    try {
      this.ended = !(await this.more());
    } finally {
      this.loading = false;
    }
  }
}

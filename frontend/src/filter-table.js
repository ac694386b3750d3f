// <filter-table total="N">: a GET form with one search field, and the rows of a table or of a [data-list]. Rows are
// filtered as you type, by all words of the field, and the address says so. The form does the same without script; it is
// sent where the server found more rows (N) than are here. [data-count] shows how many are left.
import { announce } from "./notices.js";

const PATIENCE = 300; // milliseconds after the last key

class FilterTable extends HTMLElement {
  #texts = new WeakMap();
  #field;
  #timer;
  #served;
  #count;

  connectedCallback() {
    this.#field = this.querySelector("form input[type=search]");
    if (!this.#field) return;
    this.#served = words(this.#field.value);
    this.#field.addEventListener("input", this.#typed);
    this.#filter();
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
    this.#field?.removeEventListener("input", this.#typed);
  }

  #typed = () => {
    const found = this.#filter();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#isBeyond()) return this.#field.form.requestSubmit();
      const address = new URL(location.href);
      if (this.#field.value) address.searchParams.set(this.#field.name, this.#field.value);
      else address.searchParams.delete(this.#field.name);
      history.replaceState(history.state, "", address);
      announce(`${found} ${found === 1 ? "row" : "rows"}`);
    }, PATIENCE);
  };

  /** Whether rows may match that the server has not sent: there are more, or those here were found by other words. */
  #isBeyond() {
    const wanted = words(this.#field.value);
    const narrows = this.#served.every((word) => wanted.some((one) => one.includes(word)));
    return !narrows || this.#rows().length < Number(this.getAttribute("total") ?? 0);
  }

  #rows() {
    return [...this.querySelectorAll("tbody tr, [data-list] > *")];
  }

  #filter() {
    const wanted = words(this.#field.value);
    const rows = this.#rows();
    let found = 0;
    for (const row of rows) {
      if (!this.#texts.has(row)) this.#texts.set(row, row.textContent.toLowerCase());
      const text = this.#texts.get(row);
      row.hidden = !wanted.every((word) => text.includes(word));
      found += row.hidden ? 0 : 1;
    }
    const count = this.querySelector("[data-count]");
    if (count) count.textContent = found < rows.length ? `${found} of ${rows.length}` : (this.#count ??= count.textContent);
    return found;
  }
}

function words(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

customElements.define("filter-table", FilterTable);

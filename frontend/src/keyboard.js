// Keys: `/` focuses [data-key="/"], `g` and a letter follow [data-key="LETTER"], `j` and `k` go through rows, `?` lists them.
// <keyboard-help> is the button that opens the list. There, single keys can be switched off, as WCAG 2.1.4 asks.
const PATIENCE = 1500; // milliseconds between `g` and its letter
const ROWS = "main table tbody tr, main [data-list] > *";
const WRITTEN = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button], [type=submit])";
const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

let gone = -Infinity; // when `g` was pressed
let dialog;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isOff() || event.target.closest?.(WRITTEN) || document.querySelector("dialog[open]")) return;
  const target = targetOf(event);
  if (target) event.preventDefault();
  target?.();
});

/** What a key does; undefined if it is none of ours. */
function targetOf({ key, timeStamp }) {
  const follows = timeStamp - gone < PATIENCE;
  gone = key === "g" && !follows ? timeStamp : -Infinity;
  const named = key === "/" || (follows && key.length === 1) ? keyed(key) : null;
  if (named) return () => (key === "/" ? named.focus() : named.click());
  return { "?": open, j: () => step(1), k: () => step(-1) }[key];
}

function keyed(key) {
  return document.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/** Focus the next or the former row, by its first link or field. */
function step(by) {
  const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.checkVisibility());
  const at = rows.findLastIndex((row) => row.contains(document.activeElement));
  const row = at < 0 ? rows.at(by > 0 ? 0 : -1) : rows[at + by];
  if (!row) return;
  const target = row.matches(FOCUSABLE) ? row : (row.querySelector(FOCUSABLE) ?? row);
  if (!target.matches(FOCUSABLE)) target.tabIndex = -1;
  target.focus({ focusVisible: true });
  row.scrollIntoView({ block: "nearest" });
}

function open() {
  if (!dialog?.isConnected) document.body.append((dialog = made()));
  dialog.querySelector("dl").replaceChildren(...listed());
  dialog.showModal();
}

function made() {
  const box = Object.assign(document.createElement("dialog"), { className: "keyboard-help" });
  box.setAttribute("aria-labelledby", "keyboard-help-title");
  const heading = Object.assign(document.createElement("h2"), { id: "keyboard-help-title", textContent: "Keys" });
  const label = document.createElement("label");
  const off = Object.assign(document.createElement("input"), { type: "checkbox", checked: isOff() });
  off.addEventListener("change", () => setOff(off.checked));
  label.append(off, " Switch single keys off");
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(Object.assign(document.createElement("button"), { textContent: "Close" }));
  box.append(heading, document.createElement("dl"), label, form);
  return box;
}

function* listed() {
  if (keyed("/")) yield* entry(["/"], "Search");
  for (const link of document.querySelectorAll("a[data-key]")) yield* entry(["g", link.dataset.key], link.textContent);
  yield* entry(["j"], "Next row");
  yield* entry(["k"], "Former row");
  yield* entry(["?"], "These keys");
}

function* entry(keys, text) {
  const term = document.createElement("dt");
  keys.forEach((key, at) => {
    if (at) term.append(" ");
    term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  });
  yield term;
  yield Object.assign(document.createElement("dd"), { textContent: text.trim() });
}

function isOff() {
  try {
    return localStorage.getItem("single-keys") === "off";
  } catch {
    return false;
  }
}

function setOff(off) {
  try {
    if (off) localStorage.setItem("single-keys", "off");
    else localStorage.removeItem("single-keys");
  } catch {
    // without storage they stay on
  }
}

class KeyboardHelp extends HTMLElement {
  connectedCallback() {
    if (this.firstElementChild) return;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Keys" });
    button.addEventListener("click", open);
    this.append(button);
  }
}

customElements.define("keyboard-help", KeyboardHelp);

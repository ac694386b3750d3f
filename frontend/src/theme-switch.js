// <theme-switch>: light, dark, or as the system; kept in this browser. `theme.js` applies it before the first paint.
const THEMES = { system: "System", light: "Light", dark: "Dark" };

class ThemeSwitch extends HTMLElement {
  #select;

  connectedCallback() {
    window.addEventListener("storage", this.#follow);
    if (this.#select) return;
    this.#select = document.createElement("select");
    this.#select.setAttribute("aria-label", "Theme");
    this.#select.append(...Object.entries(THEMES).map(([value, text]) => new Option(text, value)));
    this.#select.addEventListener("change", () => choose(this.#select.value));
    this.append(this.#select);
    this.#follow();
  }

  disconnectedCallback() {
    window.removeEventListener("storage", this.#follow);
  }

  /** Another tab chose: show what is chosen. */
  #follow = () => {
    const chosen = stored();
    this.#select.value = chosen;
    show(chosen);
  };
}

function stored() {
  try {
    const theme = localStorage.getItem("theme");
    return theme in THEMES ? theme : "system";
  } catch {
    return document.documentElement.dataset.theme ?? "system";
  }
}

function choose(theme) {
  show(theme);
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // it holds for this page, then
  }
}

function show(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

customElements.define("theme-switch", ThemeSwitch);

// <copy-button from="ID" label="Copy the configuration"> or <copy-button value="TEXT">: copies a text of the page.
import { announce } from "./notices.js";

const SHOWN = 2000; // milliseconds that "Copied" stays

class CopyButton extends HTMLElement {
  connectedCallback() {
    if (this.firstElementChild) return;
    const label = this.getAttribute("label") ?? "Copy";
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
    button.addEventListener("click", async () => {
      const copied = await copy(this.#text(), button);
      button.textContent = copied ? "Copied" : "Press Ctrl+C"; // what could not be copied is selected
      announce(copied ? "Copied" : "The text is selected. Press Control C to copy it.");
      setTimeout(() => (button.textContent = label), SHOWN);
    });
    this.append(button);
  }

  #text() {
    const source = document.getElementById(this.getAttribute("from"));
    return this.getAttribute("value") ?? source?.value ?? source?.textContent ?? "";
  }
}

/** Copy a text; false where the browser does not let the page do it. */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // outside of loopback and HTTPS there is no clipboard, but the older command
    const field = Object.assign(document.createElement("textarea"), { value: text, className: "visually-hidden" });
    button.after(field);
    field.select();
    const copied = document.execCommand("copy");
    field.addEventListener("blur", () => field.remove());
    if (copied) button.focus();
    return copied;
  }
}

customElements.define("copy-button", CopyButton);

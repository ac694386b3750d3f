// <live-region src="/PATH" last="ID">: its content follows a stream of the server's events, whose data is HTML:
//   message  replaces the whole content
//   swap     each element of it replaces the one with the same id
//   append   is put at the end of the element that [data-append] marks, or of the region
//   end      the stream is over
// The text of [data-announce] is said to screen readers when it changes. With `follow`, the view stays at the end while
// the reader is there. A hidden tab holds no connection; shown again, it goes on after the last event.
import htmx from "htmx.org";
import { announce, setLost } from "./notices.js";

const FIRST_WAIT = 1000; // milliseconds, doubled at each failure
const LONGEST_WAIT = 30000;
const AT_END = 40; // pixels from the end that count as there

class LiveRegion extends HTMLElement {
  #source;
  #last;
  #ended = false;
  #failures = 0;
  #timer;
  #said;
  #waiting = [];

  connectedCallback() {
    this.#last ??= this.getAttribute("last");
    this.#said ??= this.#saying();
    document.addEventListener("visibilitychange", this.#toggle);
    document.addEventListener("selectionchange", this.#flush);
    window.addEventListener("pagehide", this.#close);
    window.addEventListener("pageshow", this.#toggle);
    this.#toggle();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#toggle);
    document.removeEventListener("selectionchange", this.#flush);
    window.removeEventListener("pagehide", this.#close);
    window.removeEventListener("pageshow", this.#toggle);
    this.#close();
    setLost(this, false);
  }

  #toggle = () => {
    if (document.hidden) this.#close();
    else this.#open();
  };

  #open = () => {
    if (this.#source || this.#ended || !this.isConnected) return;
    clearTimeout(this.#timer);
    const address = new URL(this.getAttribute("src"), location.href);
    // a stream that is opened anew cannot send the header Last-Event-ID; the browser's own attempts do
    if (this.#last) address.searchParams.set("last-event-id", this.#last);
    const source = (this.#source = new EventSource(address));
    source.addEventListener("open", () => {
      this.#failures = 0;
      setLost(this, false);
    });
    source.addEventListener("error", () => this.#failed(source));
    const heard = (name, apply) =>
      source.addEventListener(name, (event) => {
        this.#last = event.lastEventId || this.#last;
        this.#waiting.push(() => apply(event.data));
        this.#flush();
      });
    heard("message", (html) => this.#replace(html));
    heard("swap", (html) => this.#swap(html));
    heard("append", (html) => this.#append(html));
    heard("end", () => {
      this.#ended = true;
      this.#close();
    });
  };

  #close = () => {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  };

  #failed(source) {
    if (source !== this.#source) return;
    if (source.readyState === EventSource.CLOSED) {
      // the server answered with something else; the browser does not try again by itself
      this.#source = undefined;
      const wait = Math.min(FIRST_WAIT * 2 ** this.#failures++, LONGEST_WAIT);
      this.#timer = setTimeout(this.#toggle, wait * (0.5 + Math.random() / 2));
    }
    setLost(this, true);
  }

  /** Apply what came, unless the reader is selecting text here. */
  #flush = () => {
    const selection = document.getSelection();
    if (!this.#waiting.length || (!selection.isCollapsed && this.contains(selection.anchorNode))) return;
    const scroller = this.closest("[data-scroll]") ?? document.scrollingElement;
    const wasAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < AT_END;
    for (const apply of this.#waiting.splice(0)) apply();
    if (wasAtEnd && this.hasAttribute("follow")) scroller.scrollTop = scroller.scrollHeight;
    const text = this.#saying();
    if (text && text !== this.#said) announce(text);
    this.#said = text;
  };

  #saying() {
    return [...this.querySelectorAll("[data-announce]")].map((one) => one.textContent.trim()).join(" ");
  }

  #replace(html) {
    this.#keepingState(() => this.replaceChildren(parsed(html)));
    htmx.process(this);
  }

  #swap(html) {
    for (const element of [...parsed(html).children]) {
      const former = element.id && this.querySelector(`#${CSS.escape(element.id)}`);
      if (!former) continue;
      this.#keepingState(() => former.replaceWith(element));
      htmx.process(element);
    }
  }

  #append(html) {
    const added = [...parsed(html).children];
    (this.querySelector("[data-append]") ?? this).append(...added);
    added.forEach((element) => htmx.process(element));
  }

  /** Keep the focus, and what the reader opened, by their ids. */
  #keepingState(change) {
    const focused = this.contains(document.activeElement) ? document.activeElement.id : "";
    const opened = [...this.querySelectorAll("details[id][open]")].map((one) => one.id);
    change();
    opened.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

customElements.define("live-region", LiveRegion);

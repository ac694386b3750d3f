// What every page loads, with `defer`: htmx under the page's Content-Security-Policy, and the custom elements.
import htmx from "htmx.org";
import { setFailed, setLost } from "./notices.js";
import "./chat.js";
import "./copy-button.js";
import "./filter-table.js";
import "./keyboard.js";
import "./live-region.js";
import "./range-field.js";

// htmx reads this when the document is parsed, which is after deferred scripts have run.
Object.assign(htmx.config, {
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0, // pages are not kept in the browser's storage: "back" loads them again
  refreshOnHistoryMiss: true,
  historyRestoreAsHxRequest: false,
  reportValidityOfForms: true,
  responseHandling: [
    { code: "204", swap: false },
    { code: "...", swap: true }, // of a refusal, too, the server says what happened and what to do
  ],
});

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const token = document.querySelector("meta[name=csrf]")?.content;
  if (token && detail.verb !== "get") detail.headers["x-csrf-token"] = token;
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const isPage = detail.xhr.getResponseHeader("content-type")?.startsWith("text/html");
  if (!isPage) detail.shouldSwap = false; // whatever stands before the console answered in its place
  setFailed(isPage ? "" : `The server answered ${detail.xhr.status} ${detail.xhr.statusText}. Load the page again.`);
});
document.addEventListener("htmx:sendError", () => setLost(htmx, true));
document.addEventListener("htmx:afterOnLoad", () => setLost(htmx, false));

// What is said to people beside the page: politely to screen readers, and in the corner while the server is not reached.
const PATIENCE = 1000; // milliseconds before a lost connection is said: most are back by then

const lost = new Set();
let status, corner, timer;

/** Let screen readers say a text when they have finished what they say. */
export function announce(text) {
  if (!status?.isConnected) {
    status = Object.assign(document.createElement("div"), { className: "visually-hidden" });
    status.setAttribute("role", "status");
    document.body.append(status);
  }
  status.textContent = "";
  setTimeout(() => (status.textContent = text), 100); // a region that is new, or says the same again, is heard so
}

/** Note that something has lost, or found, its connection; the corner says so while anything has lost it. */
export function setLost(owner, isLost) {
  if (isLost) lost.add(owner);
  else lost.delete(owner);
  if (lost.size && !timer && !corner) timer = setTimeout(show, PATIENCE);
  if (!lost.size) hide();
}

function show() {
  timer = undefined;
  corner = Object.assign(document.createElement("div"), { className: "connection-lost" });
  corner.textContent = "Connection lost. Trying again.";
  document.body.append(corner);
  announce(corner.textContent);
}

function hide() {
  clearTimeout(timer);
  timer = undefined;
  if (!corner) return;
  corner.remove();
  corner = undefined;
  announce("Connected again.");
}

// What is said to people beside the page: politely to screen readers, and in the corner while the server is not reached.
const PATIENCE = 1000; // milliseconds before a lost connection is said: most are back by then

const lost = new Set();
let status, corner, timer;

/** Let screen readers say a text when they have finished what they say. */
export function announce(text) {
  if (!status?.isConnected) status = added("visually-hidden", "", "status");
  status.textContent = "";
  setTimeout(() => (status.textContent = text), 100); // a region that is new, or says the same again, is heard so
}

/** Note that something has lost, or found, its connection; the corner says so while anything has lost it. */
export function setLost(owner, isLost) {
  if (isLost) lost.add(owner);
  else if (!lost.delete(owner)) return;
  if (lost.size) timer ??= setTimeout(() => setFailed("Connection lost. Trying again."), PATIENCE);
  else setFailed("");
}

/** Say in the corner that something failed, until the empty text says that it works again. */
export function setFailed(text) {
  clearTimeout(timer);
  timer = undefined;
  const was = corner?.isConnected;
  corner?.remove();
  if (text) corner = added("connection-lost", text);
  if (text || was) announce(text || "Connected again.");
}

function added(className, textContent, role) {
  const element = Object.assign(document.createElement("div"), { className, textContent });
  if (role) element.setAttribute("role", role);
  document.body.append(element);
  return element;
}

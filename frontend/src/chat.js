// The conversation's page: Enter in a [data-composer] sends, and a link to a cited passage opens it in a dialog.
// Answers stream through <live-region>.
import htmx from "htmx.org";

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("[data-composer]");
  // a line break while a word is being composed, such as in Japanese, chooses the word
  if (!field || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (field.value.trim()) field.form.requestSubmit();
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a.cite");
  const dialog = document.getElementById("passage");
  if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  try {
    await htmx.ajax("GET", link.getAttribute("href"), { target: dialog, swap: "innerHTML" });
    if (!dialog.open) dialog.showModal();
    dialog.querySelector(".cited")?.scrollIntoView({ block: "center" });
    dialog.addEventListener("close", () => link.focus(), { once: true });
  } catch {
    location.href = link.href;
  }
});

// What was sent is at the end, and the field is ready for the next message.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target?.id !== "turns") return;
  document.getElementById("end")?.scrollIntoView({ block: "end" });
  document.getElementById("message")?.focus({ preventScroll: true });
});

// Loaded without `defer` in the head, so that the theme that was chosen is there before the first paint.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage is closed to this page: the system's theme stays
}

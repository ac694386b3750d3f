// <range-field top="8000"><input type="number" min max step placeholder></range-field>: a slider for the number, which is
// what a form sends. While the number is empty, the slider stands at the placeholder. `top` is the slider's greatest value.
class RangeField extends HTMLElement {
  connectedCallback() {
    const number = this.querySelector("input[type=number]");
    if (!number || this.querySelector("input[type=range]")) return;
    const range = Object.assign(document.createElement("input"), { type: "range", min: number.min });
    range.max = this.getAttribute("top") ?? number.max;
    range.step = Number(range.max) > 1 ? 50 : number.step;
    range.setAttribute("aria-label", `${number.labels[0]?.firstChild?.textContent.trim() ?? number.name}, slide`);
    const follow = () => (range.value = number.value || Number(number.placeholder) || this.getAttribute("at"));
    range.addEventListener("input", () => (number.value = range.value));
    number.addEventListener("input", follow);
    number.form?.addEventListener("reset", () => setTimeout(follow));
    this.prepend(range);
    follow();
  }
}

customElements.define("range-field", RangeField);

// What a reader was at stays where it was when a page loads itself again: the focus, and scrolled tables.
const held = () => [...document.querySelectorAll("main a, main .wide, main input, main button")]
  .filter((each) => !each.closest(".alarms"));
let focused = -1;
let scrolled = [];

document.addEventListener("htmx:beforeSwap", (event) => {
  // Whoever types is not disturbed; what they see is loaded again when they leave the field.
  if (document.activeElement?.matches("main input, main textarea, main select")) {
    event.detail.shouldSwap = false;
    return;
  }
  focused = held().indexOf(document.activeElement);
  scrolled = held().map((each) => each.scrollLeft);
});
document.addEventListener("htmx:afterSwap", () => {
  held().forEach((each, at) => { each.scrollLeft = scrolled[at] ?? 0; });
  held()[focused]?.focus({ preventScroll: true });
});

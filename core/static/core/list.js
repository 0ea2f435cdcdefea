// Keyboard shortcuts of a list: j and k move between the links of the rows, which are marked by data-row. Enter follows a link by itself.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("[data-list]");
  const links = [...(list?.querySelectorAll("[data-row] th a") ?? [])];
  let current = -1;
  document.addEventListener("focusin", () => {
    const focused = links.indexOf(document.activeElement);
    if (focused >= 0) current = focused;
  });
  const steps = { j: 1, k: -1 };
  document.addEventListener("keydown", (event) => {
    if (!links.length || event.ctrlKey || event.metaKey || event.altKey || !(event.key in steps)) return;
    if (event.target.closest("select, textarea, input:not([type=checkbox]), [contenteditable]")) return;
    event.preventDefault();
    current = Math.min(Math.max(current + steps[event.key], 0), links.length - 1);
    links[current].focus();
    links[current].scrollIntoView({ block: "nearest" });
  });
});

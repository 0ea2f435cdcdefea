// The selection of rows in a list: x selects the current row, a click with Shift a range, and the box in the heading the page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const bar = document.querySelector("[data-selection]");
  if (!bar) return;
  const boxes = [...document.querySelectorAll("input[name=id][form=selection]")];
  const page = document.querySelector("[data-select-page]");
  const all = bar.querySelector("[name=all]");
  const output = bar.querySelector("output");
  let last = null;

  function show() {
    const number = boxes.filter((box) => box.checked).length;
    bar.hidden = !number && !all.checked;
    output.textContent = `${output.dataset.label}: ${number}`;
    page.checked = number === boxes.length;
    page.indeterminate = number > 0 && number < boxes.length;
    for (const box of boxes) box.closest("tr").classList.toggle("selected", box.checked || all.checked);
  }

  page.closest("th").hidden = false;
  page.addEventListener("change", () => {
    for (const box of boxes) box.checked = page.checked;
    show();
  });
  all.addEventListener("change", show);
  for (const box of boxes) {
    box.addEventListener("click", (event) => {
      if (event.shiftKey && last) {
        const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
        for (const each of boxes.slice(from, to + 1)) each.checked = box.checked;
      }
      last = box;
      show();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey || !document.querySelector("[data-list]")) return;
    if (event.target.closest("select, textarea, input:not([type=checkbox]), [contenteditable]")) return;
    const row = document.activeElement.closest("[data-row]");
    const box = row?.querySelector("input[name=id]");
    if (!box) return;
    event.preventDefault();
    box.click();
  });
  // The browser restores the boxes after this event when the user goes back.
  window.addEventListener("pageshow", show);
  show();
});

// Lists whose rows have the attribute data-row: keys move the focus from row to row and act on the current one, and checkboxes select rows.
// The lists also work without JavaScript.
"use strict";

// `list` holds the rows; the keys work if it has data-shortcuts. `link` returns the link of a row. `keys` maps keys to functions of the
// current row, which is undefined before the first move; a function that returns false leaves the key to the browser. `name` is the
// name under which the position is kept while a form is sent.
function rowKeys(list, { link, keys, name }) {
  const rows = () => [...list.querySelectorAll("[data-row]")];
  let current = -1;
  document.addEventListener("focusin", () => {
    const index = rows().indexOf(document.activeElement?.closest("[data-row]"));
    if (index >= 0) current = index;
  });

  function move(step) {
    const all = rows();
    if (!all.length) return;
    current = Math.min(Math.max(current + step, 0), all.length - 1);
    link(all[current]).focus();
    all[current].scrollIntoView({ block: "nearest" });
  }

  const position = {
    // Keep the position, so that the page that follows focuses it again.
    keep() { sessionStorage.setItem(name, String(Math.max(current, 0))); },
  };
  const place = sessionStorage.getItem(name);
  sessionStorage.removeItem(name);
  if (place !== null && rows().length && !document.querySelector("[data-focus]")) {
    current = Math.min(Number(place), rows().length - 1);
    link(rows()[current]).focus();
  }

  const all = {
    j: () => move(1),
    k: () => move(-1),
    x: (row) => row?.querySelector("[name=id]")?.click(),
    "?": () => {
      const help = document.getElementById("shortcuts");
      if (!help) return false;
      help.open = !help.open;
      if (help.open) help.querySelector("summary").focus();
    },
    ...keys,
  };
  document.addEventListener("keydown", (event) => {
    if (!("shortcuts" in list.dataset) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || event.target.closest("select, textarea, input:not([type=checkbox])")) return;
    if (event.key in all && all[event.key](rows()[current], position, event) !== false) event.preventDefault();
  });
}

// The selection of rows by their checkboxes `boxes`. A click with Shift selects a range. The checkbox `page` selects all of them. `show`
// is called after each change.
function rowSelection(boxes, page, show = () => {}) {
  let last = null;
  function update() {
    const number = boxes.filter((box) => box.checked).length;
    page.checked = number > 0 && number === boxes.length;
    page.indeterminate = number > 0 && number < boxes.length;
    show(number);
  }
  page.addEventListener("change", () => {
    for (const box of boxes) box.checked = page.checked;
    update();
  });
  for (const box of boxes) {
    box.addEventListener("click", (event) => {
      if (event.shiftKey && last) {
        const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
        for (const each of boxes.slice(from, to + 1)) each.checked = box.checked;
      }
      last = box;
      update();
    });
  }
  // The browser restores the boxes after this event when the user goes back.
  window.addEventListener("pageshow", update);
  update();
  return update;
}

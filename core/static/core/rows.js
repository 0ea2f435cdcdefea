// Lists whose rows have the attribute data-row: keys move the focus from row to row and act on the current one.
"use strict";

// `list` holds the rows, and `link` returns the link of a row. `keys` maps keys to functions of the current row, which is undefined
// before the first move. `name` is the name under which the position is kept while a form is sent.
function rowKeys(list, { link, keys, name, allows = () => true }) {
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

  const all = { j: () => move(1), k: () => move(-1), ...keys };
  document.addEventListener("keydown", (event) => {
    if (!("shortcuts" in list.dataset) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("select, textarea, input:not([type=checkbox])")) return;
    const act = all[event.key];
    if (!act || !allows(event)) return;
    event.preventDefault();
    act(rows()[current], position);
  });
}

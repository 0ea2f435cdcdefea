// The team's inbox: keyboard shortcuts, and selecting all rows. The form also works without JavaScript.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("[data-inbox]");
  const rows = [...(form?.querySelectorAll("[data-row]") ?? [])];
  const box = (row) => row.querySelector("[name=id]");
  const link = (row) => row.querySelector("h2 a");
  const focused = () => rows.indexOf(document.activeElement?.closest("[data-row]"));
  // The row that had the focus last. It stays the current row when a button gets the focus.
  let current = -1;
  document.addEventListener("focusin", () => { if (focused() >= 0) current = focused(); });

  const all = form?.querySelector("[data-select-all]");
  if (all) {
    all.hidden = false;
    const input = all.querySelector("input");
    input.addEventListener("change", () => { for (const row of rows) box(row).checked = input.checked; });
    form.addEventListener("change", () => { input.checked = rows.every((row) => box(row).checked); });
  }

  function move(step) {
    current = Math.min(Math.max(current + step, 0), rows.length - 1);
    link(rows[current]).focus();
    rows[current].scrollIntoView({ block: "nearest" });
  }

  // Click a button for the selected rows, or else for the current one. The page that follows focuses the same position again.
  function press(action) {
    const button = form.querySelector(`button[value="${action}"]`);
    if (!button) return;
    if (!rows.some((row) => box(row).checked)) {
      if (current < 0) return;
      box(rows[current]).checked = true;
    }
    sessionStorage.setItem("inbox", String(Math.max(current, 0)));
    form.requestSubmit(button);
  }

  const place = sessionStorage.getItem("inbox");
  sessionStorage.removeItem("inbox");
  if (place !== null && rows.length && !document.querySelector("[data-focus]")) {
    current = Math.min(Number(place), rows.length - 1);
    link(rows[current]).focus();
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    x: () => { if (current >= 0) box(rows[current]).click(); },
    e: () => press("handled"),
    a: () => press("approve"),
    "?": () => {
      const help = document.getElementById("shortcuts");
      help.open = !help.open;
      if (help.open) help.querySelector("summary").focus();
    },
    Enter: () => { if (document.activeElement === box(rows[current] ?? form)) link(rows[current]).click(); },
  };
  document.addEventListener("keydown", (event) => {
    if (!rows.length || !("shortcuts" in form.dataset) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("select, textarea, input:not([type=checkbox])")) return;
    const act = keys[event.key];
    if (!act || (event.key === "Enter" && !event.target.matches("[name=id]"))) return;
    event.preventDefault();
    act();
  });
});

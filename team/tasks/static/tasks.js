// The list of tasks: keyboard shortcuts. The list also works without JavaScript.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("[data-rows]");
  if (!list) return;
  const tick = (row, position) => {
    if (!row) return;
    position.keep();
    row.querySelector("[data-tick]").click();
  };
  rowKeys(list, {
    name: "tasks",
    link: (row) => row.querySelector("h3 a"),
    keys: {
      x: tick,
      e: tick,
      s: (row) => {
        const menu = row?.querySelector("details.snooze");
        if (!menu) return;
        menu.open = true;
        menu.querySelector("button").focus();
      },
      t: () => document.querySelector("[data-new]").click(),
    },
  });
});

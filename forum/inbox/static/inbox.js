// The team's inbox: keyboard shortcuts, and selecting all rows. The form also works without JavaScript.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("[data-inbox]");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[name=id]")];
  const link = (row) => row.querySelector("h2 a");

  const all = form.querySelector("[data-select-all]");
  all.hidden = false;
  rowSelection(boxes, all.querySelector("input"));

  // Click a button for the selected rows, or else for the current one. The page that follows focuses the same position again.
  const press = (action) => (row, position) => {
    const button = form.querySelector(`button[value="${action}"]`);
    if (!button) return;
    if (!boxes.some((box) => box.checked)) {
      if (!row) return;
      row.querySelector("[name=id]").checked = true;
    }
    position.keep();
    form.requestSubmit(button);
  };
  rowKeys(form, {
    name: "inbox",
    link,
    keys: {
      e: press("handled"),
      a: press("approve"),
      // Enter follows a link by itself. On a checkbox, it opens the suggestion.
      Enter: (row, _position, event) => {
        if (!event.target.matches("[name=id]")) return false;
        link(row).click();
      },
    },
  });
});

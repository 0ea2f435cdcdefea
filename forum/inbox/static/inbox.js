// The team's inbox: keyboard shortcuts, and selecting all rows. The forms also work without JavaScript.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("[data-inbox]");
  if (!form) return;
  const boxes = [...form.querySelectorAll("[name=id]")];
  const link = (row) => row.querySelector("h2 a");
  const pane = () => document.querySelector("[data-pane]");
  const isWide = matchMedia("(width >= 60rem)");

  const all = form.querySelector("[data-select-all]");
  all.hidden = false;
  rowSelection(boxes, all.querySelector("input"));

  // Mark the row of the pane.
  function mark() {
    const id = pane()?.dataset.pane;
    for (const row of form.querySelectorAll("[data-row]")) {
      if (row.dataset.id === id) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
    }
  }
  document.addEventListener("htmx:afterSwap", (event) => { if (event.target.id === "pane") mark(); });

  // On wide screens, a link shows its suggestion beside the list, without leaving the page. The pane follows the keys that move through the list.
  let requested = null;
  function show(row) {
    const { id } = row.dataset;
    if (id === (requested ?? pane()?.dataset.pane)) return;
    requested = id;
    // A request for the next suggestion cancels this one.
    htmx.ajax("GET", link(row).href, { source: "#pane", target: "#pane" }).catch(() => {}).finally(() => {
      if (requested === id) requested = null;
    });
    history.replaceState(history.state, "", link(row).href);
  }
  form.addEventListener("click", (event) => {
    const row = event.target.closest("h2 a")?.closest("[data-row]");
    if (!row || !isWide.matches || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    show(row);
  });
  let pending;
  form.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    clearTimeout(pending);
    if (isWide.matches && row && event.target === link(row) && "shortcuts" in form.dataset) pending = setTimeout(show, 120, row);
  });

  // Click a button for the selected rows, or else for the one in the pane, or else for the current one.
  const press = (action) => (row, position) => {
    const inPane = pane()?.querySelector(`button[value="${action}"]`);
    const button = form.querySelector(`button[value="${action}"]`);
    if (!boxes.some((box) => box.checked)) {
      if (inPane) return void inPane.form.requestSubmit(inPane);
      if (!row || !button) return;
      row.querySelector("[name=id]").checked = true;
    }
    if (!button) return;
    position.keep();
    form.requestSubmit(button);
  };
  // Open a part of the pane, and focus its first field.
  const open = (key) => () => {
    const part = pane()?.querySelector(`[data-key="${key}"]`);
    if (!part) return false;
    if (part.matches("a")) return void part.click();
    part.open = true;
    // The likely duplicates may still be on their way.
    const loading = part.querySelector("#pane-similar:empty");
    if (loading) return void loading.addEventListener("htmx:afterSwap", open(key), { once: true });
    (part.querySelector("form input:checked, form select:not([data-insert-into]), form textarea, form input:not([type=hidden])") ?? part.querySelector("a"))?.focus();
  };
  rowKeys(form, {
    name: "inbox",
    link,
    keys: {
      e: press("handled"),
      a: press("approve"),
      ...Object.fromEntries(["s", "g", "t", "m", "r", "#"].map((key) => [key, open(key)])),
      u: () => {
        const button = form.querySelector('button[value="undo"]');
        if (!button) return false;
        form.requestSubmit(button);
      },
      // Enter follows a link by itself. On a checkbox, it shows the suggestion.
      Enter: (row, _position, event) => {
        if (!event.target.matches("[name=id]")) return false;
        link(row).click();
      },
    },
  });
  // Enter in a list of choices of the pane sends its form, and Escape leaves the field, so that the keys work again.
  document.addEventListener("keydown", (event) => {
    const part = event.target.closest("[data-pane] details");
    if (!part) return;
    if (event.key === "Escape") {
      part.querySelector("summary").focus();
    } else if (event.key === "Enter" && event.target.matches("select:not([data-insert-into]), input[type=radio]")) {
      event.preventDefault();
      event.target.form.requestSubmit(event.target.form.querySelector("button"));
    }
  });
  // After an act, the next suggestion is in the pane, and its row has the focus.
  const shown = pane() && form.querySelector(`[data-row][data-id="${pane().dataset.pane}"]`);
  if (shown && !document.querySelector("[data-focus]")) link(shown).focus({ preventScroll: true });
});

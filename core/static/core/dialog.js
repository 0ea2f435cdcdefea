// Forms in a dialog: a link with data-dialog opens its page's form there.
"use strict";

const dialog = document.getElementById("dialog");
let opener = null;

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  opener = link.closest("details.menu")?.querySelector("summary") ?? link;
  const menu = link.closest("details.menu");
  if (menu) menu.open = false;
  htmx.ajax("GET", link.href, { target: "#dialog-content", swap: "innerHTML", source: link }).then(() => {
    if (!dialog.querySelector("form")) return;
    dialog.showModal();
    dialog.querySelector("input:not([type=hidden]), select, textarea")?.focus();
  });
});

// The server says that the form is done.
document.addEventListener("dialog-close", () => dialog.close());
dialog.addEventListener("close", () => {
  document.getElementById("dialog-content").replaceChildren();
  opener?.focus();
});

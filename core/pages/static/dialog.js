// Forms in a dialog: a link with data-dialog opens its page's form there.
"use strict";

const dialog = document.getElementById("dialog");
let opener = null, openedBy = "";
const buttonOf = (link) => link.closest("details.menu")?.querySelector("summary") ?? link;

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  opener = buttonOf(link);
  openedBy = link.getAttribute("href");
  const menu = link.closest("details.menu");
  if (menu) menu.open = false;
  htmx.ajax("GET", link.href, { target: "#dialog-content", swap: "innerHTML", source: link }).then(() => {
    if (!dialog.querySelector("form")) return;
    dialog.showModal();
    dialog.querySelector("input:not([type=hidden]), select, textarea")?.focus();
  });
});

// The page behind the dialog shows the new row, and the message about it. If that would lose what the user has typed or selected there,
// only the parts with data-live are replaced.
function hasChanged(field) {
  if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
  if (!field.matches("select")) return field.type !== "hidden" && field.value !== field.defaultValue;
  const initial = [...field.options].findIndex((option) => option.defaultSelected);
  return !field.multiple && field.selectedIndex !== Math.max(initial, 0);
}
async function showNewRows() {
  const isChanged = [...document.querySelectorAll("main :is(input, select, textarea)")].some(hasChanged);
  if (!isChanged && !("posted" in document.body.dataset)) {
    sessionStorage.setItem("opened-by", openedBy);
    location.reload();
    return;
  }
  const response = await fetch(location.href);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const current = page.querySelector(`[data-live="${part.dataset.live}"]`);
    if (!current) continue;
    part.replaceChildren(...current.childNodes);
    htmx.process(part);
  }
}
// After "Add and enter another", the dialog stays open.
let isBehind = false;
document.addEventListener("record-created", () => { isBehind = true; });
dialog.addEventListener("close", () => {
  if (isBehind) showNewRows();
  isBehind = false;
});

// The server says that the form is done.
document.addEventListener("dialog-close", () => dialog.close());
dialog.addEventListener("close", () => {
  document.getElementById("dialog-content").replaceChildren();
  opener?.focus();
});

// After a dialog has loaded the page again, the focus is where it was before the dialog.
{
  const path = sessionStorage.getItem("opened-by");
  sessionStorage.removeItem("opened-by");
  const link = [...document.querySelectorAll("a[data-dialog]")].find((each) => each.getAttribute("href") === path);
  if (link) buttonOf(link).focus({ preventScroll: true });
}

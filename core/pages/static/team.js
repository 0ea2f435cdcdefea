// The header of the team's pages: the list under the search, and keyboard shortcuts. An element with data-shortcut has the keys that
// open it, and data-label the text for the list of shortcuts, which the key ? opens. The list continues with the keys of the page, which
// are in an element with data-keys. The search also works without JavaScript.
"use strict";

// The search: a combobox with a listbox, whose options are links (ARIA 1.2).
{
  const input = document.getElementById("find");
  const results = document.getElementById("find-results");
  const options = () => [...results.querySelectorAll("[role=option]")];

  function select(option) {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }
  function show(isOpen) {
    results.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen && options().length > 0));
    select(null);
  }
  function move(step) {
    const found = options();
    const current = found.findIndex((option) => option.id === input.getAttribute("aria-activedescendant"));
    // From the input, the arrow up goes to the last option.
    const next = current < 0 ? (step > 0 ? 0 : found.length - 1) : current + step;
    select(found[next] ?? null);
  }

  input?.addEventListener("keydown", (event) => {
    const active = document.getElementById(input.getAttribute("aria-activedescendant") ?? "");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!options().length) return;
      if (results.hidden) show(true);
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && active && !results.hidden) {
      active.click();
    } else if (event.key === "Escape" && !results.hidden) {
      show(false);
    } else {
      return;
    }
    event.preventDefault();
  });
  results?.addEventListener("htmx:afterSwap", () => {
    show(document.activeElement === input && results.childElementCount > 0);
  });
  input?.addEventListener("focus", () => { if (results.childElementCount) show(true); });
  document.addEventListener("click", (event) => { if (input && !event.target.closest("[data-find]")) show(false); });
  document.addEventListener("focusin", (event) => { if (input && !event.target.closest("[data-find]")) show(false); });
}

// Keyboard shortcuts. The user can switch them off in the profile; the list of shortcuts is then missing.
{
  const help = document.getElementById("keys");
  // The time within which the second key of a pair is pressed.
  const PAUSE_MS = 1500;
  let first = "";
  let timer = 0;

  function open(element) {
    if (element.matches("details")) {
      element.open = true;
      element.querySelector("a")?.focus();
    } else if (!element.matches("input")) element.click();
    else if (element.getClientRects().length) element.focus();
    // On a small screen, the search is a link.
    else element.form.querySelector("a").click();
  }
  function showHelp() {
    const list = help.querySelector("dl");
    for (const former of list.querySelectorAll("[data-copied-key]")) former.remove();
    const add = (...elements) => {
      for (const element of elements) element.dataset.copiedKey = "";
      list.append(...elements);
    };
    for (const element of document.querySelectorAll("[data-shortcut][data-label]")) {
      const keys = document.createElement("dt");
      for (const key of element.dataset.shortcut.split(" ")) {
        keys.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
      }
      const label = Object.assign(document.createElement("dd"), { textContent: element.dataset.label });
      add(keys, label);
    }
    for (const element of document.querySelectorAll("[data-keys] > *")) add(element.cloneNode(true));
    help.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (!help || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]")) {
      first = "";
      return;
    }
    // A page with a list of its own shortcuts shows that list.
    if (event.key === "?" && !document.getElementById("shortcuts")) {
      event.preventDefault();
      showHelp();
      return;
    }
    const keys = first ? `${first} ${event.key}` : event.key;
    const all = [...document.querySelectorAll("[data-shortcut]")];
    const element = all.find((each) => each.dataset.shortcut === keys);
    clearTimeout(timer);
    first = "";
    if (element) {
      event.preventDefault();
      open(element);
    } else if (all.some((each) => each.dataset.shortcut.startsWith(`${event.key} `))) {
      first = event.key;
      timer = setTimeout(() => { first = ""; }, PAUSE_MS);
    }
  });
}

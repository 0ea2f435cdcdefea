// The header of the team's pages: the list under the search, and keyboard shortcuts. An element with data-shortcut has the keys that
// open it, and data-label the text for the list of shortcuts, which the key ? opens. The list continues with the keys of the page, which
// are in an element with data-keys. The search also works without JavaScript.
"use strict";

// A combobox with a listbox, whose options are links (ARIA 1.2): the arrow keys select an option, and Enter opens it. `open` and `close`
// show and hide the options, if they can be hidden.
function combobox(input, list, { open = () => {}, close = () => {} } = {}) {
  const options = () => [...list.querySelectorAll("[role=option]")];

  function select(option) {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }
  function move(step) {
    const found = options();
    const current = found.findIndex((option) => option.id === input.getAttribute("aria-activedescendant"));
    // From the input, the arrow up goes to the last option.
    const next = current < 0 ? (step > 0 ? 0 : found.length - 1) : current + step;
    select(found[next] ?? null);
  }
  input.addEventListener("keydown", (event) => {
    const active = document.getElementById(input.getAttribute("aria-activedescendant") ?? "");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!options().length) return;
      open();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && active && !list.hidden) {
      active.click();
    } else if (event.key !== "Escape" || list.hidden || close() === undefined) {
      return;
    }
    event.preventDefault();
  });
  return { options, select };
}

// The search in the header.
{
  const input = document.getElementById("find");
  const results = document.getElementById("find-results");

  if (input) {
    const { options, select } = combobox(input, results, {
      open: () => { if (results.hidden) show(true); },
      close: () => { show(false); return true; },
    });
    function show(isOpen) {
      results.hidden = !isOpen;
      input.setAttribute("aria-expanded", String(isOpen && options().length > 0));
      select(null);
    }
    results.addEventListener("htmx:afterSwap", () => {
      show(document.activeElement === input && results.childElementCount > 0);
    });
    input.addEventListener("focus", () => { if (results.childElementCount) show(true); });
    document.addEventListener("click", (event) => { if (!event.target.closest("[data-find]")) show(false); });
    document.addEventListener("focusin", (event) => { if (!event.target.closest("[data-find]")) show(false); });
  }
}

// Ctrl+K opens a palette with the pages of the menus, and with what the search finds.
{
  const palette = document.getElementById("palette");
  const DELAY_MS = 200;

  if (palette) {
    const input = palette.querySelector("input");
    const list = palette.querySelector("[role=listbox]");
    const { options, select } = combobox(input, list);
    const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    let timer = 0;
    let request = null;

    function textOf(link) {
      const menu = link.closest(".menu.new");
      const text = link.textContent.trim().replace(/\s+/g, " ");
      return menu ? `${menu.dataset.label}: ${text}` : text;
    }
    function pages(words) {
      const links = [...document.querySelectorAll("header nav > a, header .who .items a")];
      const found = links.filter((link) => words.every((word) => fold(textOf(link)).includes(word)));
      if (!found.length) return [];
      const group = document.createElement("div");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", palette.dataset.pages);
      for (const [number, link] of found.entries()) {
        const option = Object.assign(document.createElement("a"), { id: `palette-${number}`, href: link.href, tabIndex: -1 });
        option.setAttribute("role", "option");
        if ("dialog" in link.dataset) option.dataset.dialog = "";
        const text = document.createElement("span");
        text.textContent = textOf(link);
        option.append(...[...link.querySelectorAll("svg")].slice(0, 1).map((icon) => icon.cloneNode(true)), text);
        group.append(option);
      }
      return [group];
    }
    async function find(q) {
      request?.abort();
      request = new AbortController();
      try {
        const response = await fetch(`${palette.dataset.path}?${new URLSearchParams({ q })}`, { headers: { "HX-Request": "true" }, signal: request.signal });
        if (!response.ok) return;
        const found = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[role=listbox]");
        if (found) list.append(...found.childNodes);
      } catch (error) {
        if (error.name !== "AbortError") throw error;
      }
    }
    function show() {
      const q = input.value.trim();
      // The list of the header has options with the same ids.
      document.getElementById("find-results")?.replaceChildren();
      list.replaceChildren(...pages(fold(q).split(/\s+/)));
      select(q ? options()[0] ?? null : null);
      clearTimeout(timer);
      request?.abort();
      if (q) timer = setTimeout(() => find(q), DELAY_MS);
    }
    input.addEventListener("input", show);
    list.addEventListener("click", (event) => { if (event.target.closest("[role=option]")) palette.close(); });
    palette.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });
    document.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (palette.open || document.querySelector("dialog[open]")) return;
      input.value = "";
      show();
      palette.showModal();
    });
  }
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

// Lists of records: the selection of rows, and editing in the cells. Without JavaScript, the form of the selection is below the list,
// and the links in the cells open pages with their forms.
"use strict";

// The menu of filters: the search hides the buttons of other fields, and Enter presses the first one that is shown.
document.addEventListener("DOMContentLoaded", () => {
  const menu = document.querySelector("[data-filter-menu]");
  const search = menu?.querySelector("[data-find-button]");
  if (!search) return;
  search.hidden = false;
  const sections = [...menu.querySelectorAll("section")];
  const shown = () => menu.querySelector("section:not([hidden]) button:not([hidden])");
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const update = () => {
    const words = fold(search.value).split(/\s+/).filter(Boolean);
    for (const section of sections) {
      const heading = fold(section.querySelector("h2").textContent);
      const buttons = [...section.querySelectorAll("button")];
      for (const button of buttons) {
        const text = `${heading} ${fold(button.textContent)}`;
        button.hidden = !words.every((word) => text.includes(word));
      }
      // A button whose own label matches comes before those of a matching heading.
      section.hidden = buttons.every((button) => button.hidden);
    }
    menu.querySelector("[data-none]").hidden = Boolean(shown());
  };
  search.addEventListener("input", update);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    shown()?.click();
  });
  menu.addEventListener("toggle", () => { if (menu.open) search.focus(); });
});

document.addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("[data-rows]");
  if (!list) return;

  // A click on a cell opens its form, as does the link in it.
  const edit = (cell) => {
    const link = cell?.querySelector("a.change");
    if (link) htmx.ajax("GET", `${link.href}&cell=1`, { source: link, target: cell, swap: "outerHTML" });
    return Boolean(link);
  };
  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const cell = event.target.closest(".records tbody td:not(.editing)");
    const other = event.target.closest("a, button, input, label, summary");
    // A tap on a card does not open a form: it is too easy to tap a value while scrolling.
    const isTap = !other && matchMedia("(hover: none)").matches;
    if (!cell?.querySelector("a.change") || (other && !other.matches(".change")) || isTap || String(getSelection())) return;
    event.preventDefault();
    edit(cell);
  });
  // The form may be wider than the column.
  list.addEventListener("htmx:afterSettle", () => {
    list.querySelector("td.editing:focus-within")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  // Each row gets a button that shows it in the panel at the side: the content of its page, or its fields if the row has an id.
  for (const link of list.querySelectorAll("[data-row] th a")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "peek" });
    const { id } = link.closest("[data-row]").dataset;
    button.dataset.peek = id ? `?peek=${id}` : `${link.getAttribute("href")}&peek=1`;
    button.setAttribute("aria-label", `${list.dataset.peekLabel}: ${link.textContent}`);
    button.append(document.getElementById("peek-icon").content.cloneNode(true));
    link.after(button);
  }
  const peek = document.getElementById("peek");
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-peek]");
    if (!button) return;
    htmx.ajax("GET", button.dataset.peek, { target: "#peek-content", swap: "innerHTML", source: button }).then(() => {
      if (peek.querySelector("#peek-heading")) peek.showModal();
    });
  });
  peek?.addEventListener("click", (event) => { if (event.target === peek) peek.close(); });

  // Move the focus along the current row, over the links that are shown.
  const step = (number) => (row) => {
    const links = [...row?.querySelectorAll("th a, a.change") ?? []].filter((link) => link.getClientRects().length);
    const current = links.indexOf(document.activeElement);
    if (current < 0 || !links[current + number]) return false;
    links[current + number].focus();
  };
  rowKeys(list, {
    link: (row) => row.querySelector("th a"),
    keys: {
      p: (row) => row?.querySelector("[data-peek]")?.click(),
      e: (row) => edit(document.activeElement.closest("td:not(.pick)") ?? row?.querySelector("td:has(a.change)")),
      b: () => {
        const all = document.querySelector("[data-selection]:not([hidden]) [name=all]");
        if (!all) return false;
        all.focus();
      },
      ArrowRight: step(1),
      ArrowLeft: step(-1),
    },
  });

  selection(list);
  columns(list.querySelector("table"));
});

// The selection is kept while the user leafs through the list. The form sends the ids of other pages in hidden inputs.
const KEPT_FOR_MS = 30 * 60 * 1000;
const MAX_KEPT = 900;

function selection(list) {
  const bar = document.querySelector("[data-selection]");
  const page = document.querySelector("[data-select-page]");
  if (!bar || !page) return;
  const all = bar.querySelector("[name=all]");
  const output = bar.querySelector("output");
  const clear = bar.querySelector("[data-clear]");
  const boxes = [...list.querySelectorAll("[name=id]")];
  const address = new URL(location.href);
  address.searchParams.delete("page");
  const key = `selection ${address.pathname}${address.search}`;
  const stored = JSON.parse(sessionStorage.getItem(key) ?? "null");
  const kept = new Set(stored && Date.now() - stored.at < KEPT_FOR_MS ? stored.ids : []);
  for (const box of boxes) if (kept.has(box.value)) box.checked = true;
  page.hidden = false;
  // On a large screen, the bar takes the place of the tools above the list.
  document.querySelector(".list-tools").after(bar);
  bar.classList.add("floating");
  let isSent = false;
  const update = rowSelection(boxes, page, () => {
    for (const box of boxes) {
      if (!box.checked) kept.delete(box.value);
      else if (kept.size < MAX_KEPT) kept.add(box.value);
      else box.checked = kept.has(box.value);
    }
    if (!isSent) sessionStorage.setItem(key, JSON.stringify({ at: Date.now(), ids: [...kept] }));
    bar.hidden = !kept.size && !all.checked;
    output.textContent = all.checked ? "" : `${output.dataset.label}: ${kept.size}`;
    clear.hidden = all.checked || !kept.size;
    for (const box of boxes) box.closest("tr").classList.toggle("selected", box.checked || all.checked);
  });
  all.addEventListener("change", update);
  clear.addEventListener("click", () => {
    kept.clear();
    for (const box of boxes) box.checked = false;
    update();
  });
  bar.addEventListener("submit", () => {
    const shown = new Set(boxes.map((box) => box.value));
    for (const former of bar.querySelectorAll("[data-kept]")) former.remove();
    for (const id of all.checked ? [] : kept) {
      if (shown.has(id)) continue;
      const input = Object.assign(document.createElement("input"), { type: "hidden", name: "id", value: id });
      input.dataset.kept = "";
      bar.append(input);
    }
    isSent = true;
    sessionStorage.removeItem(key);
  });
}

// A heading is dragged to another place, and its edge to another width. The form of the columns has buttons for the order.
function columns(table) {
  const form = document.querySelector("[data-columns-menu] form");
  const headings = [...table.querySelectorAll("thead [data-column]")];
  if (!form || !matchMedia("(pointer: fine)").matches) return;

  const setWidth = (heading, width) => {
    for (const row of table.rows) {
      const cell = row.cells[heading.cellIndex];
      if (cell) cell.style.minWidth = cell.style.maxWidth = `${width}px`;
    }
  };
  const save = (heading, width) => {
    const body = new URLSearchParams({ do: "widths", query: "", [`width-${heading.dataset.column}`]: Math.round(width) });
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    fetch(form.action, { method: "POST", body, headers: { "X-CSRFToken": token } });
  };
  for (const heading of headings) {
    if (heading.dataset.width) setWidth(heading, heading.dataset.width);
    const edge = document.createElement("span");
    edge.className = "edge";
    heading.append(edge);
    edge.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      edge.setPointerCapture(event.pointerId);
      const start = heading.getBoundingClientRect().width - event.clientX;
      const width = (moved) => Math.min(Math.max(start + moved.clientX, 60), 900);
      const move = (moved) => setWidth(heading, width(moved));
      edge.addEventListener("pointermove", move);
      edge.addEventListener("pointerup", (ended) => {
        edge.removeEventListener("pointermove", move);
        save(heading, width(ended));
      }, { once: true });
    });
  }

  // The first column has the names and stays.
  let dragged = null;
  for (const heading of headings.slice(1)) {
    heading.draggable = true;
    for (const link of heading.querySelectorAll("a")) link.draggable = false;
    heading.addEventListener("dragstart", (event) => {
      if (event.target.closest?.(".edge")) { event.preventDefault(); return; }
      dragged = heading;
      event.dataTransfer.effectAllowed = "move";
    });
    heading.addEventListener("dragover", (event) => {
      if (!dragged) return;
      event.preventDefault();
      heading.classList.toggle("target", heading !== dragged);
    });
    heading.addEventListener("dragleave", () => heading.classList.remove("target"));
    heading.addEventListener("drop", (event) => {
      event.preventDefault();
      if (!dragged || dragged === heading) return;
      const item = (of) => form.querySelector(`.shown-columns [value="${CSS.escape(of.dataset.column)}"]`).closest("div");
      if (headings.indexOf(dragged) < headings.indexOf(heading)) item(heading).after(item(dragged));
      else item(heading).before(item(dragged));
      form.requestSubmit();
    });
    heading.addEventListener("dragend", () => { dragged = null; });
  }
}

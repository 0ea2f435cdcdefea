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
      e: (row) => edit(document.activeElement.closest("td:not(.pick)") ?? row?.querySelector("td:has(a.change)")),
      ArrowRight: step(1),
      ArrowLeft: step(-1),
    },
  });

  const bar = document.querySelector("[data-selection]");
  const page = document.querySelector("[data-select-page]");
  if (!bar || !page) return;
  const all = bar.querySelector("[name=all]");
  const output = bar.querySelector("output");
  const boxes = [...list.querySelectorAll("[name=id]")];
  page.hidden = false;
  // On a large screen, the bar takes the place of the tools above the list.
  document.querySelector(".list-tools").after(bar);
  bar.classList.add("floating");
  const update = rowSelection(boxes, page, (number) => {
    bar.hidden = !number && !all.checked;
    output.textContent = all.checked ? "" : `${output.dataset.label}: ${number}`;
    for (const box of boxes) box.closest("tr").classList.toggle("selected", box.checked || all.checked);
  });
  all.addEventListener("change", update);
});

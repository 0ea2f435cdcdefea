// Editing in the cells of a list. A click on a cell opens its form, as does the link in it. The key e does so for the focused cell or
// row, and the arrow keys move the focus along a row. Without JavaScript, the link opens a page with the form.
"use strict";

{
  const list = document.querySelector("[data-list]");
  const edit = (cell) => {
    const link = cell?.querySelector("a.change");
    if (link) htmx.ajax("GET", `${link.href}&cell=1`, { source: link, target: cell, swap: "outerHTML" });
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

  document.addEventListener("keydown", (event) => {
    if (!list || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = document.activeElement?.closest("[data-row]");
    if (!row || event.target.closest("input, select, textarea")) return;
    if (event.key === "e") {
      event.preventDefault();
      edit(document.activeElement.closest("td") ?? row.querySelector("td:has(a.change)"));
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const links = [...row.querySelectorAll("th a, a.change")].filter((link) => link.getClientRects().length);
      const next = links[links.indexOf(document.activeElement) + (event.key === "ArrowRight" ? 1 : -1)];
      if (!next) return;
      event.preventDefault();
      next.focus();
    }
  });
}

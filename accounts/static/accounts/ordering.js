// Lists whose order people give: by dragging, and by the arrow keys on the handle. The buttons do it without this.
// <ol data-ordering data-moved="{name} … {n} … {total}"><li data-id data-name>… <button data-handle hidden> …</li></ol>
"use strict";

for (const list of document.querySelectorAll("[data-ordering]")) {
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("aria-live", "polite");
  list.after(said);

  async function keep(item) {
    const before = item.nextElementSibling, after = item.previousElementSibling;
    const body = new URLSearchParams({ do: "move", id: item.dataset.id });
    if (after) body.set("after", after.dataset.id);
    else if (before) body.set("before", before.dataset.id);
    const items = [...list.children];
    said.textContent = list.dataset.moved
      .replace("{name}", () => item.dataset.name)
      .replace("{n}", items.indexOf(item) + 1)
      .replace("{total}", items.length);
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    let answer = null;
    try {
      answer = await fetch(location.href, { method: "POST", body, headers: { "X-CSRFToken": token, "HX-Request": "true" } });
    } catch {
      // It is as it was: so is the page, once it is loaded again.
    }
    if (answer?.status !== 204) location.reload();
  }

  let waiting = Promise.resolve();
  function send(item) {
    // One after another, in the order in which they were made.
    waiting = waiting.then(() => keep(item));
  }

  for (const handle of list.querySelectorAll("[data-handle]")) {
    const item = handle.closest("li");
    handle.hidden = false;
    handle.addEventListener("keydown", (event) => {
      const up = event.key === "ArrowUp", other = up ? item.previousElementSibling : item.nextElementSibling;
      if (!up && event.key !== "ArrowDown") return;
      event.preventDefault();
      if (!other) return;
      other[up ? "before" : "after"](item);
      handle.focus();
      send(item);
    });

    let from = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = item.nextElementSibling;
      handle.setPointerCapture(event.pointerId);
      item.classList.add("dragged");
    });
    handle.addEventListener("pointermove", (event) => {
      if (!item.classList.contains("dragged")) return;
      for (const other of list.children) {
        const { top, height } = other.getBoundingClientRect();
        if (other === item || event.clientY < top || event.clientY > top + height) continue;
        const below = event.clientY > top + height / 2;
        if (below ? other.nextElementSibling !== item : other.previousElementSibling !== item) other[below ? "after" : "before"](item);
      }
    });
    const drop = (event) => {
      if (!item.classList.contains("dragged")) return;
      item.classList.remove("dragged");
      if (event.type === "pointercancel") list.insertBefore(item, from);
      else if (item.nextElementSibling !== from) send(item);
    };
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
  }
}

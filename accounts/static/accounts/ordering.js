// Reordering of lists by dragging, by the arrow keys on the handle, and by the buttons, which also work without JavaScript.
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
      // Nothing was saved. Reload the page to show the stored order.
    }
    if (answer?.status !== 204) location.reload();
  }

  // The buttons at both ends are disabled, unless the list continues on another page.
  const steps = (way) => [...list.querySelectorAll(`[name=step][value=${way}]`)];
  const ends = { up: steps("up").at(0)?.disabled, down: steps("down").at(-1)?.disabled };
  function mark() {
    for (const button of [...steps("up"), ...steps("down")]) button.disabled = false;
    steps("up").at(0).disabled = ends.up;
    steps("down").at(-1).disabled = ends.down;
  }

  let waiting = Promise.resolve();
  function send(item) {
    mark();
    // Send the moves one after another, in their order.
    waiting = waiting.then(() => keep(item));
  }

  for (const handle of list.querySelectorAll("[data-handle]")) {
    const item = handle.closest("li");
    handle.hidden = false;
    // Move the neighbours instead of the item, which would lose the focus and the pointer capture.
    const step = { up: () => item.previousElementSibling && item.after(item.previousElementSibling),
                   down: () => item.nextElementSibling && item.before(item.nextElementSibling) };
    handle.addEventListener("keydown", (event) => {
      const way = { ArrowUp: "up", ArrowDown: "down" }[event.key], other = item.nextElementSibling;
      if (!way) return;
      event.preventDefault();
      step[way]();
      if (item.nextElementSibling !== other) send(item);
    });

    item.querySelector(".steps").addEventListener("submit", (event) => {
      const button = event.submitter, other = item.nextElementSibling;
      step[button.value]();
      // A move to another page of the list is sent as a form.
      if (item.nextElementSibling === other) return;
      event.preventDefault();
      send(item);
      if (button.disabled) handle.focus();
    });

    let from = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = item.nextElementSibling;
      handle.setPointerCapture(event.pointerId);
      item.classList.add("dragged");
    });
    const middle = (other) => {
      const { top, height } = other.getBoundingClientRect();
      return top + height / 2;
    };
    handle.addEventListener("pointermove", (event) => {
      if (!item.classList.contains("dragged")) return;
      while (item.previousElementSibling && event.clientY < middle(item.previousElementSibling)) step.up();
      while (item.nextElementSibling && event.clientY > middle(item.nextElementSibling)) step.down();
    });
    const drop = (event) => {
      if (!item.classList.contains("dragged")) return;
      item.classList.remove("dragged");
      if (event.type === "pointercancel") list.insertBefore(item, from); // a touch that turned into scrolling
      else if (item.nextElementSibling !== from) send(item);
    };
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
  }
}

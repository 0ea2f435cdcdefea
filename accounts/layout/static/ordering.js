// Reordering of lists by dragging, by the arrow keys on the handle, and by the buttons, which also work without JavaScript.
// <ol data-ordering data-moved="{name} … {n} … {total}"><li data-id data-name>… <button data-handle hidden> …</li></ol>
"use strict";

for (const list of document.querySelectorAll("[data-ordering]")) {
  const announcement = document.createElement("p");
  announcement.className = "unseen";
  announcement.setAttribute("aria-live", "polite");
  list.after(announcement);

  async function savePosition(item) {
    const before = item.nextElementSibling, after = item.previousElementSibling;
    const body = new URLSearchParams({ do: "move", id: item.dataset.id });
    if (after) body.set("after", after.dataset.id);
    else if (before) body.set("before", before.dataset.id);
    const items = [...list.children];
    announcement.textContent = list.dataset.moved
      .replace("{name}", () => item.dataset.name)
      .replace("{n}", items.indexOf(item) + 1)
      .replace("{total}", items.length);
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    let response = null;
    try {
      response = await fetch(location.href, { method: "POST", body, headers: { "X-CSRFToken": token, "HX-Request": "true" } });
    } catch {
      // The request failed. The page is reloaded below, to show the stored order.
    }
    if (response?.status !== 204) location.reload();
  }

  // The buttons at both ends are disabled, unless the list continues on another page.
  const buttons = (direction) => [...list.querySelectorAll(`[name=step][value=${direction}]`)];
  const disabledAtEnds = { up: buttons("up").at(0)?.disabled, down: buttons("down").at(-1)?.disabled };
  function updateButtons() {
    for (const button of [...buttons("up"), ...buttons("down")]) button.disabled = false;
    buttons("up").at(0).disabled = disabledAtEnds.up;
    buttons("down").at(-1).disabled = disabledAtEnds.down;
  }

  let lastRequest = Promise.resolve();
  function send(item) {
    updateButtons();
    // Send the moves one after another, in their order.
    lastRequest = lastRequest.then(() => savePosition(item));
  }

  for (const handle of list.querySelectorAll("[data-handle]")) {
    const item = handle.closest("li");
    handle.hidden = false;
    // Move the neighbours instead of the item, which would lose the focus and the pointer capture.
    const step = { up: () => item.previousElementSibling && item.after(item.previousElementSibling),
                   down: () => item.nextElementSibling && item.before(item.nextElementSibling) };
    handle.addEventListener("keydown", (event) => {
      const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key], oldNeighbour = item.nextElementSibling;
      if (!direction) return;
      event.preventDefault();
      step[direction]();
      if (item.nextElementSibling !== oldNeighbour) send(item);
    });

    item.querySelector(".steps").addEventListener("submit", (event) => {
      const button = event.submitter, oldNeighbour = item.nextElementSibling;
      step[button.value]();
      // A move to another page of the list is sent as a form.
      if (item.nextElementSibling === oldNeighbour) return;
      event.preventDefault();
      send(item);
      if (button.disabled) handle.focus();
    });

    let neighbourBeforeDrag = null;
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      neighbourBeforeDrag = item.nextElementSibling;
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
      if (event.type === "pointercancel") list.insertBefore(item, neighbourBeforeDrag); // a touch that turned into scrolling
      else if (item.nextElementSibling !== neighbourBeforeDrag) send(item);
    };
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
  }
}

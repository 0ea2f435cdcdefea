// Moving of cards on a board, such as deals and suggestions: with the mouse, by touching the handle, and with the arrow keys after a card was picked up.
// The form behind "Move…" also works without JavaScript. The server answers with the card and the totals as they are now.
"use strict";

{
  const THRESHOLD = 5; // pixels before a press becomes a drag
  const news = document.getElementById("board-news");
  const board = () => document.getElementById("board");
  const lists = () => [...board().querySelectorAll("[data-cards]")];
  const cardsOf = (list) => [...list.querySelectorAll("[data-card]")];
  const handleOf = (card) => card.querySelector("[data-grab]");
  const columnOf = (element) => element.closest("[data-column]");
  const nameOf = (card) => card.querySelector("h3").textContent.trim();
  const column = (card) => columnOf(card).querySelector("h2").textContent.trim();
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);

  function say(text, card) {
    const place = cardsOf(card.parentElement).indexOf(card) + 1;
    news.textContent = fill(board().dataset[text], { name: nameOf(card), column: column(card), place });
  }
  function showHandles(root) {
    for (const handle of root.querySelectorAll("[data-grab]")) handle.hidden = false;
  }

  // The card that is being moved, and where it was.
  let moved = null;
  const start = (card) => { moved = { card, list: card.parentElement, next: card.nextElementSibling }; };
  const isMoved = () => moved.card.parentElement !== moved.list || moved.card.nextElementSibling !== moved.next;
  function putBack() {
    const { card, list, next } = moved;
    list.insertBefore(card, next?.isConnected && next.parentElement === list ? next : list.querySelector("[data-more]"));
  }
  function insert(card, list, before) {
    list.insertBefore(card, before ?? list.querySelector(":scope > [data-more]"));
  }

  function send(card) {
    const target = columnOf(card), seen = columnOf(moved.list);
    const cards = cardsOf(card.parentElement), above = cards[cards.indexOf(card) - 1];
    const values = {
      status_id: target.dataset.column,
      after_id: above ? above.dataset.card : "0",
      seen_status_id: seen.dataset.column,
    };
    const link = card.querySelector("[data-move]"), path = link.getAttribute("href");
    if ("asks" in target.dataset && target !== seen) {
      // The dialog asks for the reason. Until then the card stays where it was.
      putBack();
      link.href = `${path}&${new URLSearchParams(values)}`;
      link.click();
      link.href = path;
      moved = null;
      return;
    }
    const { list, next } = moved;
    moved = null;
    const listening = new AbortController();
    const undo = () => {
      listening.abort();
      if (!card.isConnected) return;
      list.insertBefore(card, next?.parentElement === list ? next : list.querySelector("[data-more]"));
    };
    const fails = ["htmx:sendError", "htmx:timeout", "htmx:responseError"];
    for (const name of fails) card.addEventListener(name, undo, { signal: listening.signal });
    htmx.ajax("POST", path, { source: link, target: "#board-news", swap: "innerHTML", values });
  }

  // The keyboard
  const release = (card) => handleOf(card).setAttribute("aria-pressed", "false");
  function drop(card) {
    release(card);
    if (isMoved()) send(card);
    else moved = null;
  }
  function step(card, key) {
    const all = lists(), list = card.parentElement, cards = cardsOf(list), index = cards.indexOf(card);
    if (key === "ArrowUp" && index > 0) insert(card, list, cards[index - 1]);
    else if (key === "ArrowDown" && index < cards.length - 1) insert(card, list, cards[index + 2]);
    else if (key === "ArrowLeft" || key === "ArrowRight") {
      const other = all[all.indexOf(list) + (key === "ArrowLeft" ? -1 : 1)];
      if (other) insert(card, other, cardsOf(other)[index]);
    }
    // Moving an element takes the focus away from it.
    handleOf(card).focus();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
    say("at", card);
  }
  document.addEventListener("click", (event) => {
    const handle = event.target.closest("[data-grab]");
    if (!handle || event.detail) return; // a click of the mouse is the end of a drag
    const card = handle.closest("[data-card]");
    if (moved?.card === card) {
      drop(card);
    } else {
      if (moved) cancel();
      start(card);
      handle.setAttribute("aria-pressed", "true");
      say("picked", card);
    }
  });
  function cancel() {
    const { card } = moved;
    putBack();
    release(card);
    say("back", card);
    moved = null;
    return card;
  }
  document.addEventListener("keydown", (event) => {
    const card = event.target.closest("[data-card]");
    if (!moved || moved.card !== card || !event.target.matches("[data-grab][aria-pressed=true]")) return;
    if (event.key === "Escape") handleOf(cancel()).focus();
    else if (event.key.startsWith("Arrow")) step(card, event.key);
    else return;
    event.preventDefault();
  });
  // A card that is left without dropping it goes back. Moving it takes the focus away for a moment.
  document.addEventListener("focusin", (event) => {
    if (!drag && moved && !moved.card.contains(event.target)) cancel();
  });

  // The pointer
  let drag = null;
  document.addEventListener("pointerdown", (event) => {
    const card = event.target.closest("[data-card]"), handle = event.target.closest("[data-grab]");
    if (!card || event.button || !event.isPrimary || event.target.closest("[data-move]")) return;
    if (event.pointerType !== "mouse" && !handle) return; // a touch beside the handle scrolls
    if (moved) cancel();
    drag = { card, id: event.pointerId, x: event.clientX, y: event.clientY, isActive: false };
  });
  document.addEventListener("pointermove", (event) => {
    if (event.pointerId !== drag?.id) return;
    if (!drag.isActive) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < THRESHOLD) return;
      drag.isActive = true;
      start(drag.card);
      drag.card.classList.add("dragged");
      board().classList.add("dragging");
      board().setPointerCapture(event.pointerId);
    }
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const list = under?.closest("[data-column]")?.querySelector("[data-cards]");
    if (list) {
      const others = cardsOf(list).filter((card) => card !== drag.card);
      const below = others.find((card) => {
        const { top, height } = card.getBoundingClientRect();
        return event.clientY < top + height / 2;
      });
      insert(drag.card, list, below);
    }
    const { left, right } = board().getBoundingClientRect();
    if (event.clientX < left + 40) board().scrollLeft -= 16;
    else if (event.clientX > right - 40) board().scrollLeft += 16;
  });
  function end(event, isDropped) {
    if (event.pointerId !== drag?.id) return;
    const { card, isActive } = drag;
    drag = null;
    if (!isActive) return;
    card.classList.remove("dragged");
    board().classList.remove("dragging");
    // The link under the pointer is not followed.
    const stop = (click) => { click.preventDefault(); click.stopPropagation(); };
    document.addEventListener("click", stop, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", stop, { capture: true }));
    if (isDropped && isMoved()) {
      // After the click that ends the drag.
      setTimeout(() => send(card), 1);
    } else {
      putBack();
      moved = null;
    }
  }
  document.addEventListener("pointerup", (event) => end(event, true));
  document.addEventListener("pointercancel", (event) => end(event, false));
  document.addEventListener("dragstart", (event) => { if (event.target.closest("[data-card]")) event.preventDefault(); });

  document.addEventListener("DOMContentLoaded", () => showHandles(document));
  document.addEventListener("htmx:load", (event) => {
    // htmx reports each new element.
    if (event.detail.elt.closest?.("#board")) showHandles(event.detail.elt);
  });
  document.addEventListener("card-moved", (event) => {
    const card = document.getElementById(event.detail.id);
    if (card) handleOf(card).focus();
  });
}

// What makes the pages quicker or handier; each works without it.
"use strict";

// Whether another page is on its way: what comes for this one meanwhile must not take its place. Whoever types on stays here.
let leaving = false;
window.addEventListener("beforeunload", () => { leaving = true; });
window.addEventListener("pageshow", () => { leaving = false; });
document.addEventListener("input", () => { leaving = false; });

// Faults at the top of a form, and whatever else says so, are where the reader goes on.
function focusMarked(root) {
  const marked = root.querySelector("[data-focus]");
  if (marked) marked.focus();
}

document.addEventListener("DOMContentLoaded", () => focusMarked(document));
document.addEventListener("htmx:afterSwap", (event) => {
  // What took the place of the target is where the event is.
  const { target } = event.detail;
  focusMarked(target && !target.isConnected ? event.target : target ?? document);
});

// What htmx has sent, or looks for as one asks, and gets no answer to says so at the top of the page, until something is answered.
// What is fetched unasked need not. Whoever types goes on typing.
let unanswered = null;
function tell(id, asking) {
  const isTyping = asking.type === "search";
  if (leaving || !asking.matches("a, button, form, [type=search]") || (isTyping && unanswered?.isConnected)) return;
  const messages = document.getElementById("messages");
  messages.replaceChildren(document.getElementById(id).content.cloneNode(true));
  unanswered = messages.firstElementChild;
  if (!isTyping) unanswered.focus();
}
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => tell("no-answer", event.detail.requestConfig.elt));
}
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  unanswered?.remove();
  // The service names the place of what it refuses; what stands before it does not, nor does the service when it is overloaded.
  if ((xhr.status < 500 && xhr.status !== 429) || xhr.getResponseHeader("HX-Retarget")) return;
  event.detail.shouldSwap = false;
  tell("no-service", requestConfig.elt);
});

// Open menus close when one clicks or goes elsewhere, where they would cover what has the focus, or presses Escape, which gives
// the focus back.
document.addEventListener("focusout", (event) => {
  const menu = event.target.closest("details.menu[open]");
  if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// What cannot be taken back asks first: data-confirm holds the question.
document.addEventListener("submit", (event) => {
  const asking = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (asking && !window.confirm(asking)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

// A double click sends a form once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.hasAttribute("hx-post") || form.method === "get") return;
  if (form.dataset.sent) {
    event.preventDefault();
  } else {
    form.dataset.sent = "yes";
    window.addEventListener("pageshow", () => delete form.dataset.sent, { once: true });
  }
});

// data-copy names the element whose text is copied; the button says in data-copied that it was.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent);
  const label = button.querySelector("span") ?? button;
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => { label.textContent = before; }, 2000);
});

// Times are told in the reader's own zone to whoever points at them.
function localizeTimes(root) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) time.title = format.format(new Date(time.dateTime));
}
document.addEventListener("DOMContentLoaded", () => localizeTimes(document));
document.addEventListener("htmx:load", (event) => localizeTimes(event.detail.elt));

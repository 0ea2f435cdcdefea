// Enhancements of the pages, which also work without JavaScript.
"use strict";

// True while the browser loads another page. Error notices would then replace content for no use. Typing means that the user stays.
let leaving = false;
window.addEventListener("beforeunload", () => { leaving = true; });
window.addEventListener("pageshow", () => { leaving = false; });
document.addEventListener("input", () => { leaving = false; });

// Focus the element with data-focus, such as the errors at the top of a form.
function focusMarked(root) {
  const marked = root.querySelector("[data-focus]");
  if (marked) marked.focus();
}

document.addEventListener("DOMContentLoaded", () => focusMarked(document));

// On a small screen, the sections in the header, tabs and stages scroll: show the current ones.
function showCurrent() {
  for (const link of document.querySelectorAll(".team nav > [aria-current], .tabs > [aria-current], .stages > [aria-current]")) {
    const [list, { left, width }] = [link.parentElement, link.getBoundingClientRect()];
    list.scrollLeft += left - list.getBoundingClientRect().left - (list.clientWidth - width) / 2;
  }
}

document.addEventListener("DOMContentLoaded", showCurrent);
document.addEventListener("htmx:afterSettle", showCurrent);
document.addEventListener("htmx:afterSwap", (event) => {
  // If the target was replaced, the event is at its replacement.
  const { target } = event.detail;
  focusMarked(target && !target.isConnected ? event.target : target ?? document);
});

// Show a notice at the top of the page if a request that the user caused gets no response, until another one gets a response.
// Requests that htmx sends on its own cause no notice. While the user types, the focus stays in the field.
let unanswered = null;
function tell(id, asking) {
  const isTyping = asking.matches("[type=search], #find");
  if (leaving || !(isTyping || asking.matches("a, button, form")) || (isTyping && unanswered?.isConnected)) return;
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
  // Errors from Django name their target. Those from a proxy, or from an overloaded server, do not.
  if ((xhr.status < 500 && xhr.status !== 429) || xhr.getResponseHeader("HX-Retarget")) return;
  event.detail.shouldSwap = false;
  tell("no-service", requestConfig.elt);
});

// News about what was done disappears after a time in which it can be read, unless the pointer or the focus is on it.
const SHOWN_FOR_MS = 10000;
function closeLater(notice) {
  setTimeout(() => { if (notice.matches(":hover, :focus-within")) closeLater(notice); else notice.remove(); }, SHOWN_FOR_MS);
}
function prepareNotices(root) {
  for (const notice of root.querySelectorAll("#messages > .notice")) {
    notice.querySelector("[data-close-notice]")?.removeAttribute("hidden");
    if (notice.matches(".success")) closeLater(notice);
  }
}
document.addEventListener("DOMContentLoaded", () => prepareNotices(document));
document.addEventListener("click", (event) => event.target.closest("[data-close-notice]")?.closest(".notice").remove());

// While a page or a part of it loads, it is busy. The style shows it after 300 ms.
const busy = (element, isBusy) => isBusy ? element.setAttribute("aria-busy", "true") : element.removeAttribute("aria-busy");
window.addEventListener("beforeunload", () => busy(document.documentElement, true));
window.addEventListener("pageshow", () => busy(document.documentElement, false));
document.addEventListener("htmx:beforeRequest", (event) => busy(event.detail.target, true));
document.addEventListener("htmx:afterRequest", (event) => busy(event.detail.target, false));

// Ask before leaving a page, or a dialog, with a text that was typed and not sent.
const texts = "form:not([method=get]) textarea, form:not([method=get]) [data-draft]";
const isUnsent = (root) => [...root.querySelectorAll(texts)].some(
  (field) => field.value.trim() && field.value !== field.defaultValue && !field.form?.dataset.sent && field.getClientRects().length);
window.addEventListener("beforeunload", (event) => {
  if (isUnsent(document)) event.preventDefault();
});
document.addEventListener("cancel", (event) => {
  const dialog = event.target.closest("dialog[data-ask]");
  if (dialog && isUnsent(dialog) && !window.confirm(dialog.dataset.ask)) event.preventDefault();
}, true);

// Browsers without `field-sizing` don't grow a text field with its text.
if (!CSS.supports("field-sizing", "content")) {
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches("textarea")) return;
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * 0.7)}px`;
  });
}

// The toolbar of a text in Markdown: each button puts its signs around the selection, or at the beginning of its lines.
function addToolbars(root) {
  const template = document.getElementById("text-toolbar");
  for (const field of template ? root.querySelectorAll("textarea[data-markdown]:not([data-has-toolbar])") : []) {
    field.dataset.hasToolbar = "";
    const bar = template.content.firstElementChild.cloneNode(true);
    field.before(bar);
    bar.addEventListener("click", (event) => {
      const { around, line } = event.target.closest("button")?.dataset ?? {};
      const { selectionStart: start, selectionEnd: end, value } = field;
      const chosen = value.slice(start, end);
      let text = around ? around.replace("…", () => chosen) : null;
      let from = start;
      if (line) {
        from = value.lastIndexOf("\n", start - 1) + 1;
        text = value.slice(from, end).split("\n").map((each) => line + each).join("\n");
      }
      if (text === null) return;
      field.focus();
      field.setSelectionRange(from, end);
      // It keeps the history of the field, so that Ctrl+Z undoes it.
      if (!document.execCommand("insertText", false, text)) field.setRangeText(text, from, end, "end");
      if (around && !chosen) field.setSelectionRange(from + around.indexOf("…"), from + around.indexOf("…"));
    });
  }
}

// A menu whose choice is inserted into a text field.
document.addEventListener("change", (event) => {
  const field = document.getElementById(event.target.dataset?.insertInto ?? "");
  if (!field || !event.target.value) return;
  const { selectionStart: start, selectionEnd: end } = field;
  field.setRangeText(event.target.value, start, end, "end");
  event.target.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

document.addEventListener("DOMContentLoaded", () => addToolbars(document));
document.addEventListener("htmx:load", (event) => addToolbars(event.detail.elt));

// Close an open menu on a click outside, when the focus leaves it (the menu could cover the focused element), and on Escape, which returns
// the focus to its button. A click on a text in the menu moves the focus to an element around the menu, such as <main>. Not on
// focusout: hiding an element while it loses the focus to a click ends the tab in Chromium.
let focused = null;
document.addEventListener("focusin", (event) => {
  const menu = focused?.closest("details.menu[open]");
  focused = event.target;
  if (menu && !menu.contains(focused) && !focused.contains(menu)) menu.open = false;
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

// Ask before an action that cannot be undone: data-confirm holds the question.
document.addEventListener("submit", (event) => {
  const asking = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (asking && !window.confirm(asking)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

// Ctrl+Enter (on a Mac, Cmd+Enter) submits a form from each of its fields, with the button of its actions or its only prominent one.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  const form = event.target.form;
  if (form?.method !== "post" || !event.target.matches("textarea, input, select")) return;
  const buttons = [...form.elements].filter((each) => each.type === "submit" && !each.formNoValidate && each.offsetParent);
  const button = buttons.find((each) => each.closest(".actions")) ?? buttons.find((each) => !each.matches(".unseen, .quiet"));
  if (!button && !event.target.matches("textarea")) return;
  event.preventDefault();
  form.requestSubmit(button);
});

// Submit a form only once on a double click.
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

// On "Back", browsers load the page again, and show what was typed. The entry in the history has the keys of the forms, so that the server
// recognizes a form that was sent before.
function keepFormKeys(isLoaded) {
  const inputs = [...document.querySelectorAll("main input[name=form_key]")];
  const former = isLoaded ? history.state?.formKeys : null;
  if (former?.length === inputs.length) inputs.forEach((input, place) => { input.value = former[place]; });
  if (inputs.length) history.replaceState({ ...history.state, formKeys: inputs.map((input) => input.value) }, "");
}
document.addEventListener("DOMContentLoaded", () => keepFormKeys(true));
document.addEventListener("htmx:afterSettle", () => keepFormKeys(false));

// Copy the text of the element that data-copy selects. Afterwards the button shows data-copied.
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

// Show times in the time zone of the reader, as tooltips.
function localizeTimes(root) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) time.title = format.format(new Date(time.dateTime));
}
document.addEventListener("DOMContentLoaded", () => localizeTimes(document));
document.addEventListener("htmx:load", (event) => localizeTimes(event.detail.elt));

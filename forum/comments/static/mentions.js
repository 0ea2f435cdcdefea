"use strict";

// Completes "@na" in a text to the name of a user, or to the login where the server sends one (in notes of the team). Without JavaScript,
// people type the whole name. Also puts replies into the form for a comment.
(() => {
  const DELAY = 150;
  let timer, shown = null;

  // The @ and the letters before the cursor, or null.
  const typed = (field) => /(?:^|[\s(])@([^\s@]{1,64})$/.exec(field.value.slice(0, field.selectionStart));

  const close = () => {
    if (shown) shown.list.remove();
    shown = null;
  };

  const choose = (field, user) => {
    const match = typed(field);
    close();
    if (!match) return;
    const end = field.selectionStart;
    field.setRangeText(`@${user.login ?? user.name} `, end - match[1].length - 1, end, "end");
    field.focus();
  };

  const mark = (index) => {
    const items = [...shown.list.children];
    shown.index = (index + items.length) % items.length;
    items.forEach((item, n) => item.setAttribute("aria-selected", String(n === shown.index)));
  };

  const show = (field, users) => {
    close();
    if (!users.length || !typed(field)) return;
    const list = document.createElement("ul");
    list.className = "mentions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", field.form.dataset.mentionsLabel);
    // The focus stays in the field. Otherwise a click beside an option would remove the list while the field loses the focus.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    for (const user of users) {
      const item = document.createElement("li");
      item.setAttribute("role", "option");
      item.textContent = user.login ? `${user.name} @${user.login}` : user.name;
      item.addEventListener("mousedown", () => choose(field, user));
      list.append(item);
    }
    field.after(list);
    shown = { list, users, field, index: 0 };
    mark(0);
  };

  const search = async (field) => {
    const match = typed(field);
    if (!match) return close();
    const response = await fetch(`${field.form.dataset.mentions}?q=${encodeURIComponent(match[1])}`);
    if (response.status === 200 && document.activeElement === field) show(field, await response.json());
  };

  document.addEventListener("input", (event) => {
    if (!event.target.matches("form[data-mentions] textarea")) return;
    clearTimeout(timer);
    timer = setTimeout(() => search(event.target).catch(close), DELAY);
  });
  document.addEventListener("focusout", (event) => {
    if (shown && event.target === shown.field) close();
  });
  document.addEventListener("keydown", (event) => {
    if (!shown || event.target !== shown.field) return;
    if (event.key === "ArrowDown") mark(shown.index + 1);
    else if (event.key === "ArrowUp") mark(shown.index - 1);
    else if (event.key === "Enter" || event.key === "Tab") choose(shown.field, shown.users[shown.index]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });

  // A reply: htmx has put the note into the form. The text follows what is written there already.
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    const text = target.id === "reply-note" && target.querySelector("[data-reply-text]");
    if (!text) return;
    const field = target.closest("form").querySelector("textarea");
    field.value = [field.value.trimEnd(), text.textContent].filter(Boolean).join("\n\n");
    field.scrollIntoView({ block: "center" });
    field.focus();
  });
  // htmx leaves out a button that is not inside of its form.
  document.addEventListener("htmx:configRequest", ({ target, detail }) => {
    const button = target.id === "react" && detail.triggeringEvent?.submitter;
    if (button) detail.parameters[button.name] = button.value;
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-no-reply]");
    if (!link) return;
    event.preventDefault();
    link.closest("form").elements.parent_id.value = "";
    link.closest("#reply-note").replaceChildren();
  });
})();

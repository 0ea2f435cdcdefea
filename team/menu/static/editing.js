// Keys of forms, which also work without JavaScript: Escape cancels the form of a field, and Ctrl+Enter (on a Mac, Cmd+Enter) submits a
// form with data-submit-by-key from its text. A click on a kind of note focuses its first field, while the arrow keys stay at the kinds.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("[data-submit-by-key] textarea")) {
    event.preventDefault();
    event.target.form.requestSubmit(event.target.form.querySelector(".actions button"));
  }
  if (event.key !== "Escape") return;
  event.target.closest(".editing")?.querySelector("[data-cancel]").click();
});
document.addEventListener("click", (event) => {
  const form = event.target.closest(".kinds label")?.closest("form");
  // After the label has checked its radio button, which shows the fields.
  if (form) setTimeout(() => [...form.querySelectorAll(".field :is(textarea, input)")].find((field) => field.offsetParent)?.focus());
});

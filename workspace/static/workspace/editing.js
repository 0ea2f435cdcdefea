// Keys of forms, which also work without JavaScript: Escape cancels the form of a field, and Ctrl+Enter (on a Mac, Cmd+Enter) submits a
// form with data-submit-by-key from its text.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("[data-submit-by-key] textarea")) {
    event.preventDefault();
    event.target.form.requestSubmit(event.target.form.querySelector(".actions button"));
  }
  if (event.key !== "Escape") return;
  event.target.closest(".editing")?.querySelector("[data-cancel]").click();
});

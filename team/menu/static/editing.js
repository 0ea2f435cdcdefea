// Keys of forms, which also work without JavaScript: Escape cancels the form of a field. A click on a kind of note focuses its first field,
// while the arrow keys stay at the kinds.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.target.closest(".editing")?.querySelector("[data-cancel]").click();
});
document.addEventListener("click", (event) => {
  const form = event.target.closest(".kinds label")?.closest("form");
  // After the label has checked its radio button, which shows the fields.
  if (form) setTimeout(() => [...form.querySelectorAll(".field :is(textarea, input)")].find((field) => field.offsetParent)?.focus());
});

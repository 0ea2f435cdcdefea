// Editing in place: Escape cancels the form of a field. The forms also work without JavaScript.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.target.closest(".editing")?.querySelector("[data-cancel]").click();
});

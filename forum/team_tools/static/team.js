// Completes the last of several tags. A datalist completes the whole value of a field, so its options are rebuilt while the user types.
"use strict";

document.addEventListener("input", (event) => {
  const field = event.target.closest?.("[data-tags]");
  if (!field?.list) return;
  field.known ??= [...field.list.options].map((option) => option.value);
  const before = field.value.slice(0, field.value.lastIndexOf(",") + 1);
  const used = new Set(before.split(",").map((name) => name.trim().toLowerCase()));
  const begun = before && `${before.trim()} `;
  field.list.replaceChildren(...field.known.filter((name) => !used.has(name.toLowerCase())).map((name) => new Option("", begun + name)));
});

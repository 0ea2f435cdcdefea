// The bars of a chart are one stop of the Tab key. The arrow keys move to the next and the previous group.
document.addEventListener("keydown", (event) => {
  const group = event.target.closest(".chart .bars");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!group || !step) return;
  const groups = [...group.parentNode.querySelectorAll(".bars")];
  const next = groups[groups.indexOf(group) + step];
  event.preventDefault();
  if (!next) return;
  group.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

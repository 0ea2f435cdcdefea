// Show the progress of the upload of a file. Without JavaScript, the browser sends the form.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-upload]");
  const file = form?.querySelector("[type=file]").files[0];
  if (!file || event.defaultPrevented) return;
  event.preventDefault();
  const [bar, button] = [form.querySelector("[data-progress]"), form.querySelector("button")];
  const show = (fraction) => {
    bar.hidden = false;
    bar.querySelector("progress").value = fraction * 100;
    bar.querySelector("[data-percent]").textContent = `${Math.floor(fraction * 100)} %`;
  };
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.responseType = "document";
  request.upload.addEventListener("progress", ({ loaded, total }) => show(loaded / total));
  request.addEventListener("load", () => {
    const content = request.response?.querySelector("main");
    // After the redirect, it is the page of the import.
    if (request.status === 200 || !content) location.assign(request.responseURL);
    else {
      document.querySelector("main").replaceWith(content);
      document.querySelector("[data-focus]")?.focus();
    }
  });
  request.addEventListener("error", () => {
    // The browser says what is wrong.
    form.submit();
  });
  button.disabled = true;
  show(0);
  request.send(new FormData(form));
});

// After Back, the form can be sent again.
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("[data-upload] button")) button.disabled = false;
});

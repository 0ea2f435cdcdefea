"use strict";

// Sends the files that are pasted or dropped into a text, or chosen beside it, and names each in the text. Without JavaScript, the chosen
// files are sent with the form.
(() => {
  const insert = (area, text) => {
    const start = area.selectionStart;
    const before = area.value.slice(0, start);
    const gap = !before || before.endsWith("\n") ? "" : "\n";
    area.setRangeText(`${gap}${text}\n`, start, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const report = (box, text, file) => {
    const line = document.createElement("p");
    line.className = "field-error";
    line.textContent = file ? `${text} ${file.name}` : text;
    box.append(line);
    return line;
  };

  const send = (field, area, file) => {
    const box = field.querySelector(".sending");
    if (file.size > Number(field.dataset.maxBytes)) {
      report(box, field.dataset.tooLarge, file);
      return;
    }
    const form = area.form;
    const line = document.createElement("p");
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", `${field.dataset.sending} ${file.name}`);
    line.append(`${field.dataset.sending} ${file.name} `, bar);
    box.append(line);
    const data = new FormData();
    data.append("csrfmiddlewaretoken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    data.append("files", file, file.name || "image.png");
    const request = new XMLHttpRequest();
    request.open("POST", field.dataset.upload);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = event.loaded / event.total;
    });
    form.dataset.sending = Number(form.dataset.sending || 0) + 1;
    request.addEventListener("loadend", () => {
      form.dataset.sending = Number(form.dataset.sending) - 1;
      line.remove();
      box.querySelectorAll("[data-wait]").forEach((note) => note.remove());
      if (request.status === 201) insert(area, request.response.markdown);
      else if (request.status === 422 && request.response) report(box, request.response.message);
      else report(box, field.dataset.failed, file);
    });
    request.send(data);
  };

  // The field with the files of a form, and the text that names them. The panel of files of a record has no text.
  const parts = (form) => {
    const field = form?.querySelector(".attach");
    const area = form?.querySelector("textarea");
    return field && area ? [field, area] : null;
  };

  const sendAll = (event, form, files) => {
    const found = parts(form);
    if (!found || !files.length) return false;
    found[0].querySelector(".sending").replaceChildren();
    for (const file of files) send(...found, file);
    event.preventDefault();
    return true;
  };

  document.addEventListener("paste", (event) => {
    // Programs that copy cells or words add a picture of them to the text.
    const { files, types } = event.clipboardData;
    if (event.target.matches("textarea") && !types.includes("text/plain")) sendAll(event, event.target.form, [...files]);
  });
  document.addEventListener("dragover", (event) => {
    if (event.target.matches?.("textarea") && event.dataTransfer.types.includes("Files") && parts(event.target.form)) {
      event.preventDefault();
    }
  });
  document.addEventListener("drop", (event) => {
    if (event.target.matches?.("textarea")) sendAll(event, event.target.form, [...event.dataTransfer.files]);
  });
  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.matches(".attach [type=file]") && sendAll(event, target.form, [...target.files])) target.value = "";
  });
  document.addEventListener("submit", (event) => {
    if (!Number(event.target.dataset.sending || 0)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const field = event.target.querySelector(".attach");
    report(field.querySelector(".sending"), field.dataset.wait).dataset.wait = "";
  }, true);
})();

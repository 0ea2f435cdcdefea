// What is searched or chosen is put in place of the results. Where the answer is none of them (the session of a private forum
// has ended, or the service refuses), its page is shown, unless the reader is on the way to another one (`leaving` of pages.js).
"use strict";

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig, pathInfo, target } = event.detail;
  if (requestConfig?.verb === "get" && target?.id === "results" && (xhr.status >= 400 || xhr.status === 204)) {
    event.detail.shouldSwap = false;
    if (!leaving) window.location.assign(pathInfo.finalRequestPath);
  }
});

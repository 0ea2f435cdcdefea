// What is searched or chosen is put in place of the results. Where the answer is another page (the session has ended, or
// the service refuses), that page is shown.
"use strict";

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig, pathInfo, target } = event.detail;
  if (requestConfig?.verb === "get" && target?.id === "results" && xhr.status >= 400) {
    event.detail.shouldSwap = false;
    window.location.assign(pathInfo.finalRequestPath);
  }
});

// htmx replaces the results by the response. If the response is not a list (the session of a private forum has ended, or the service
// refuses the request), this script loads it as a page, unless the browser already navigates away (`leaving` of pages.js).
"use strict";

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig, pathInfo, target } = event.detail;
  if (requestConfig?.verb === "get" && target?.id === "results" && (xhr.status >= 400 || xhr.status === 204)) {
    event.detail.shouldSwap = false;
    if (!leaving) window.location.assign(pathInfo.finalRequestPath);
  }
});

// Offer the time zone of the browser to a user who has not chosen one.
const offer = document.querySelector("form[data-zone]");
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
if (offer && browserZone.includes("/") && browserZone !== offer.dataset.zone) {
  offer.querySelector("strong").textContent = browserZone.replaceAll("_", " ");
  offer.querySelector("button").value = browserZone;
  offer.hidden = false;
}

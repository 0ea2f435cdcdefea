// Tell the form the time zone of the browser.
const zone = document.querySelector("#start [name=time_zone]");
if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

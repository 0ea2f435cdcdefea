// Run the API examples in the settings, and update the curl command of an example when one of its fields changes.
"use strict";

// The number of characters of a response body that are displayed. `example_requests.py` has the same limit.
const MAX_SHOWN_LENGTH = 100_000;
// The reason phrases of statuses. HTTP/2 does not transmit them.
const PHRASES = {
  200: "OK", 201: "Created", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
  404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 413: "Payload Too Large", 415: "Unsupported Media Type",
  422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
};

const percentEncode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const shellQuote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
// The fields of the query, of the headers or of the path (`place`) that have a value.
const filledFields = (form, place) => [...form.querySelectorAll(`[data-place="${place}"]`)].filter((field) => field.value.trim());
const valueOf = (field) => field.value.trim();

// Build the request from the values of the fields.

// Return the path and the query.
function target(form) {
  let path = form.dataset.path;
  for (const field of form.querySelectorAll('[data-place="path"]')) {
    path = path.replace(`{${field.dataset.name}}`, () => percentEncode(valueOf(field)));
  }
  const pairs = filledFields(form, "query").flatMap((field) => {
    const name = field.dataset.name;
    if (!("names" in field.dataset)) return [[name, valueOf(field)]];
    return valueOf(field).split("&").map((part) => {
      const [key, ...rest] = part.split("=");
      return [`${name}[${key}]`, rest.join("=")];
    });
  });
  return path + (pairs.length ? `?${pairs.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`).join("&")}` : "");
}

const headersOf = (form) => filledFields(form, "header").map((field) => [field.dataset.name, valueOf(field).replace(/\s+/g, " ")]);
const bodyOf = (form) => form.querySelector("[data-body]")?.value ?? "";

function curl(form) {
  const { method, language, address, login, token, mediaType } = form.dataset;
  const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${shellQuote(address + target(form))}`];
  if (language === "xml") lines.push(`-u ${shellQuote(`${login}:PASSWORD`)}`);
  else if (language === "json") lines.push(`-H ${shellQuote(`Authorization: Bearer ${token || "YOUR_API_TOKEN"}`)}`);
  for (const [name, value] of headersOf(form)) lines.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  const body = bodyOf(form);
  if (body) lines.push(`-H ${shellQuote(`Content-Type: ${mediaType}`)}`, `-d ${shellQuote(body)}`);
  return lines.join(" \\\n  ");
}

const updateCurl = (form) => { form.querySelector("[data-curl]").textContent = curl(form); };

// Display responses. JSON is indented, and its numbers stay as they were written. JSON and XML are coloured. No text is parsed as HTML.

function coloredSpan(className, text) {
  const span = document.createElement("span");
  span.className = className;
  span.textContent = text;
  return span;
}

function* colorJSON(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0, opened = false;
  for (const [n, token] of tokens.entries()) {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    if (opened !== closes) yield `\n${"  ".repeat(depth)}`;
    opened = token === "{" || token === "[";
    if (opened) depth += 1;
    if (token === ",") yield `,\n${"  ".repeat(depth)}`;
    else if (token === ":") yield ": ";
    else if (token.startsWith('"')) yield coloredSpan(tokens[n + 1] === ":" ? "name" : "text", token);
    else if (opened || closes) yield token;
    else yield coloredSpan("value", token);
  }
}

function* colorXML(text) {
  for (const part of text.match(/<[^>]*>|[^<]+/g) ?? []) {
    if (!part.startsWith("<")) {
      yield part;
      continue;
    }
    for (const piece of part.match(/"[^"]*"|[^"]+/g)) yield coloredSpan(piece.startsWith('"') ? "text" : "name", piece);
  }
}

function colorBody(text, type) {
  if (text.length <= MAX_SHOWN_LENGTH && type.includes("json")) return [...colorJSON(text)];
  const start = text.slice(0, MAX_SHOWN_LENGTH);
  return type.includes("xml") ? [...colorXML(start)] : [start];
}

const cloneTemplate = (id) => document.getElementById(id).content.cloneNode(true);

function showResponse(form, requestLine, response, text, milliseconds) {
  const content = cloneTemplate("response");
  const part = (name) => content.querySelector(`[data-${name}]`);
  const type = response.headers.get("Content-Type") ?? "";
  part("status").textContent = `${response.status} ${response.statusText || PHRASES[response.status] || ""}`;
  part("status").className = response.status < 400 ? "good" : "bad";
  part("time").textContent = `${Math.round(milliseconds)} ms`;
  part("line").textContent = requestLine;
  part("headers").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  part("text").append(...colorBody(text, type));
  part("text").parentElement.hidden = !text;
  part("cut").hidden = text.length <= MAX_SHOWN_LENGTH;
  offerId(form, part("offer"), response, text, type);
  form.querySelector("[data-response]").replaceChildren(content);
}

// If the request created a resource, show a button that writes its id into the fields of other examples for ids of this kind.
function offerId(form, button, response, text, type) {
  const { createdKind } = form.dataset;
  const id = createdKind && response.ok && text.match(type.includes("json") ? /^\{"id":(\d+)/ : /<id type="integer">(\d+)<\/id>/)?.[1];
  if (!id) return;
  const fields = document.querySelectorAll(`[data-kind-of-id="${createdKind}"]`);
  if (!fields.length) return;
  const { offerText, doneText } = document.getElementById("response").dataset;
  button.textContent = offerText.replace("{id}", id);
  button.hidden = false;
  button.addEventListener("click", () => {
    for (const field of fields) {
      field.value = id;
      updateCurl(field.form);
    }
    button.textContent = doneText;
  });
}

// Send the request of an example and show the response.

async function run(form) {
  const output = form.querySelector("[data-response]");
  const { method, language, mediaType } = form.dataset;
  const token = form.dataset.token || document.getElementById("api-token")?.value.trim();
  const address = target(form), body = bodyOf(form);
  const headers = new Headers({ Accept: language ? `application/${language}` : "*/*" });
  if (token && language === "json") headers.set("Authorization", `Bearer ${token}`);
  else headers.set("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
  if (body) headers.set("Content-Type", mediaType);
  output.replaceChildren(cloneTemplate("running"));
  const startedAt = performance.now();
  try {
    for (const [name, value] of headersOf(form)) headers.set(name, value);
    const response = await fetch(address, { method, headers, body: body || undefined, credentials: "same-origin", cache: "no-store" });
    const text = await response.text();
    showResponse(form, `${method} ${address} HTTP/1.1`, response, text, performance.now() - startedAt);
    if (response.status === 401 && !headers.has("Authorization")) output.append(cloneTemplate("signed-out"));
  } catch {
    output.replaceChildren(cloneTemplate("no-answer"));
  }
}

for (const form of document.querySelectorAll("form[data-example]")) {
  form.addEventListener("input", () => updateCurl(form));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.running) return;
    form.dataset.running = "yes";
    await run(form);
    delete form.dataset.running;
  });
  // When a page is reloaded, the browser may restore the values that its fields had before.
  updateCurl(form);
}
for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;
for (const part of document.querySelectorAll("[data-text]")) {
  const text = part.textContent;
  part.replaceChildren(...(text.startsWith("<?xml") ? colorXML(text) : /^[[{"]/.test(text) ? colorJSON(text) : [text]));
}

// Open the example that the fragment of the URL names.
function openExampleOfHash() {
  const details = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (details instanceof HTMLDetailsElement) {
    details.open = true;
    details.scrollIntoView();
  }
}
window.addEventListener("hashchange", openExampleOfHash);
openExampleOfHash();

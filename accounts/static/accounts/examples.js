// Executes the API examples of the settings, and updates their curl commands when a field changes.
"use strict";

const SHOWN = 100_000;
// Reason phrases, which HTTP/2 does not send.
const PHRASES = {
  200: "OK", 201: "Created", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
  404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 413: "Payload Too Large", 415: "Unsupported Media Type",
  422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
};

const escaped = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const given = (form, place) => [...form.querySelectorAll(`[data-place="${place}"]`)].filter((field) => field.value.trim());
const valueOf = (field) => field.value.trim();

// The request of the values in the fields

function target(form) {
  let path = form.dataset.path;
  for (const field of form.querySelectorAll('[data-place="path"]')) {
    path = path.replace(`{${field.dataset.name}}`, () => escaped(valueOf(field)));
  }
  const pairs = given(form, "query").flatMap((field) => {
    const name = field.dataset.name;
    if (!("names" in field.dataset)) return [[name, valueOf(field)]];
    return valueOf(field).split("&").map((part) => {
      const [key, ...rest] = part.split("=");
      return [`${name}[${key}]`, rest.join("=")];
    });
  });
  return path + (pairs.length ? `?${pairs.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&")}` : "");
}

const headersOf = (form) => given(form, "header").map((field) => [field.dataset.name, valueOf(field).replace(/\s+/g, " ")]);
const bodyOf = (form) => form.querySelector("[data-body]")?.value ?? "";

function curl(form) {
  const { method, language, address, login, token, mediaType } = form.dataset;
  const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${shellQuoted(address + target(form))}`];
  if (language === "xml") lines.push(`-u ${shellQuoted(`${login}:PASSWORD`)}`);
  else if (language === "json") lines.push(`-H ${shellQuoted(`Authorization: Bearer ${token || "YOUR_API_TOKEN"}`)}`);
  for (const [name, value] of headersOf(form)) lines.push(`-H ${shellQuoted(`${name}: ${value}`)}`);
  const body = bodyOf(form);
  if (body) lines.push(`-H ${shellQuoted(`Content-Type: ${mediaType}`)}`, `-d ${shellQuoted(body)}`);
  return lines.join(" \\\n  ");
}

const showCurl = (form) => { form.querySelector("[data-curl]").textContent = curl(form); };

// Responses: JSON is indented, with each number as it was written, and JSON and XML are coloured. Text is never parsed as HTML.

function colored(kind, text) {
  const part = document.createElement("span");
  part.className = kind;
  part.textContent = text;
  return part;
}

function* inJSON(text) {
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
    else if (token.startsWith('"')) yield colored(tokens[n + 1] === ":" ? "name" : "text", token);
    else if (opened || closes) yield token;
    else yield colored("value", token);
  }
}

function* inXML(text) {
  for (const part of text.match(/<[^>]*>|[^<]+/g) ?? []) {
    if (!part.startsWith("<")) {
      yield part;
      continue;
    }
    for (const piece of part.match(/"[^"]*"|[^"]+/g)) yield colored(piece.startsWith('"') ? "text" : "name", piece);
  }
}

function inColors(text, type) {
  if (text.length <= SHOWN && type.includes("json")) return [...inJSON(text)];
  const start = text.slice(0, SHOWN);
  return type.includes("xml") ? [...inXML(start)] : [start];
}

const fresh = (id) => document.getElementById(id).content.cloneNode(true);

function show(form, line, response, text, spent) {
  const answer = fresh("answer");
  const part = (name) => answer.querySelector(`[data-${name}]`);
  const type = response.headers.get("Content-Type") ?? "";
  part("status").textContent = `${response.status} ${response.statusText || PHRASES[response.status] || ""}`;
  part("status").className = response.status < 400 ? "good" : "bad";
  part("time").textContent = `${Math.round(spent)} ms`;
  part("line").textContent = line;
  part("headers").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  part("text").append(...inColors(text, type));
  part("text").parentElement.hidden = !text;
  part("cut").hidden = text.length <= SHOWN;
  offer(form, part("offer"), response, text, type);
  form.querySelector("[data-answer]").replaceChildren(answer);
}

// Offer to fill in the id of the created resource in the fields of the same kind.
function offer(form, button, response, text, type) {
  const made = form.dataset.makes && response.ok;
  const id = made && text.match(type.includes("json") ? /^\{"id":(\d+)/ : /<id type="integer">(\d+)<\/id>/)?.[1];
  if (!id) return;
  const fields = document.querySelectorAll(`[data-thing="${form.dataset.makes}"]`);
  if (!fields.length) return;
  const { use, used } = document.getElementById("answer").dataset;
  button.textContent = use.replace("{id}", id);
  button.hidden = false;
  button.addEventListener("click", () => {
    for (const field of fields) {
      field.value = id;
      showCurl(field.form);
    }
    button.textContent = used;
  });
}

// Running

async function run(form) {
  const place = form.querySelector("[data-answer]");
  const { method, language, mediaType } = form.dataset;
  const token = form.dataset.token || document.getElementById("api-token")?.value.trim();
  const address = target(form), body = bodyOf(form);
  const headers = new Headers({ Accept: language ? `application/${language}` : "*/*" });
  if (token && language === "json") headers.set("Authorization", `Bearer ${token}`);
  else headers.set("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
  if (body) headers.set("Content-Type", mediaType);
  place.replaceChildren(fresh("running"));
  const began = performance.now();
  try {
    for (const [name, value] of headersOf(form)) headers.set(name, value);
    const response = await fetch(address, { method, headers, body: body || undefined, credentials: "same-origin", cache: "no-store" });
    const text = await response.text();
    show(form, `${method} ${address} HTTP/1.1`, response, text, performance.now() - began);
    if (response.status === 401 && !headers.has("Authorization")) place.append(fresh("signed-out"));
  } catch {
    place.replaceChildren(fresh("no-answer"));
  }
}

for (const form of document.querySelectorAll("form[data-example]")) {
  form.addEventListener("input", () => showCurl(form));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.running) return;
    form.dataset.running = "yes";
    await run(form);
    delete form.dataset.running;
  });
  // A browser may restore other values in the fields of a page.
  showCurl(form);
}
for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;
for (const part of document.querySelectorAll("[data-text]")) {
  const text = part.textContent;
  part.replaceChildren(...(text.startsWith("<?xml") ? inXML(text) : /^[[{"]/.test(text) ? inJSON(text) : [text]));
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}
window.addEventListener("hashchange", openNamed);
openNamed();

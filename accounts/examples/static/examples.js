// Run the API examples in the settings, and update the code of an example when one of its fields changes.
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

// The token in the field above the examples, or the new token on the page without this field.
const tokenOf = (form) => document.getElementById("api-token")?.value.trim() ?? form.dataset.token;

// Return the request that the code of an example sends. `ExampleRequest` in `example_code.py` is the same.
function requestOf(form) {
  const { method, language, address, login, mediaType } = form.dataset;
  const headers = headersOf(form), body = bodyOf(form);
  if (language === "json") headers.unshift(["Authorization", `Bearer ${tokenOf(form) || "YOUR_API_TOKEN"}`]);
  if (body) headers.push(["Content-Type", mediaType]);
  return { method, url: address + target(form), login: language === "xml" ? login : "", headers, body };
}

// The code of an example in each language, as `example_code.py` writes it.

// A literal must not contain these control characters as they are.
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f]/;
const escapeControl = (text) => text.replace(new RegExp(CONTROL, "g"), (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
const escapeBackslash = (text) => text.replaceAll("\\", "\\\\");
const shellLiteral = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function pythonLiteral(text) {
  const escaped = escapeControl(escapeBackslash(text).replaceAll('"', '\\"'));
  return escaped.includes("\n") ? `"""${escaped.replace(/\\"(?!$)(?!\\")/g, '"')}"""` : `"${escaped}"`;
}

function javascriptLiteral(text) {
  const escaped = escapeControl(escapeBackslash(text));
  if (!escaped.includes("\n")) return `"${escaped.replaceAll('"', '\\"')}"`;
  return `\`${escaped.replaceAll("`", "\\`").replaceAll("${", "\\${")}\``;
}

// A literal of PHP or Ruby. `variable` is the character that begins a variable between double quotes.
function scriptLiteral(text, variable) {
  const escaped = escapeBackslash(text);
  if (!CONTROL.test(text)) return `'${escaped.replaceAll("'", "\\'")}'`;
  return `"${escapeControl(escaped.replaceAll('"', '\\"').replaceAll(variable, `\\${variable}`))}"`;
}
const phpLiteral = (text) => scriptLiteral(text, "$");
const rubyLiteral = (text) => scriptLiteral(text, "#");

const WRITERS = {
  curl({ method, url, login, headers, body }) {
    return [
      `curl${method === "GET" ? "" : ` -X ${method}`} ${shellLiteral(url)}`,
      ...(login ? [`-u ${shellLiteral(`${login}:PASSWORD`)}`] : []),
      ...headers.map(([name, value]) => `-H ${shellLiteral(`${name}: ${value}`)}`),
      ...(body ? [`-d ${shellLiteral(body)}`] : []),
    ].join(" \\\n  ");
  },
  php({ method, url, login, headers, body }) {
    const lines = headers.map(([name, value]) => `        ${phpLiteral(`${name}: ${value}`)},`);
    if (login) lines.unshift(`        'Authorization: Basic ' . base64_encode(${phpLiteral(`${login}:PASSWORD`)}),`);
    return [
      "<?php",
      "$context = stream_context_create(['http' => [",
      `    'method' => '${method}',`,
      ...(lines.length ? ["    'header' => [", ...lines, "    ],"] : []),
      ...(body ? [`    'content' => ${phpLiteral(body)},`] : []),
      "    'ignore_errors' => true,",
      "]]);",
      `echo file_get_contents(${phpLiteral(url)}, false, $context);`,
    ].join("\n");
  },
  python({ method, url, login, headers, body }) {
    const lines = headers.map(([name, value]) => `        ${pythonLiteral(name)}: ${pythonLiteral(value)},`);
    if (login) lines.unshift('        "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),');
    return [
      ...(login ? ["import base64"] : []),
      "import urllib.error",
      "import urllib.request",
      "",
      ...(login ? [`credentials = ${pythonLiteral(`${login}:PASSWORD`)}`] : []),
      "request = urllib.request.Request(",
      `    ${pythonLiteral(url)},`,
      `    method="${method}",`,
      ...(lines.length ? ["    headers={", ...lines, "    },"] : []),
      ...(body ? [`    data=${pythonLiteral(body)}.encode(),`] : []),
      ")",
      "try:",
      "    response = urllib.request.urlopen(request)",
      "except urllib.error.HTTPError as error:",
      "    response = error",
      "print(response.read().decode())",
    ].join("\n");
  },
  javascript({ method, url, login, headers, body }) {
    const lines = headers.map(([name, value]) => `    ${javascriptLiteral(name)}: ${javascriptLiteral(value)},`);
    if (login) lines.unshift('    "Authorization": "Basic " + btoa(String.fromCharCode(...credentials)),');
    return [
      ...(login ? [`const credentials = new TextEncoder().encode(${javascriptLiteral(`${login}:PASSWORD`)});`] : []),
      `const response = await fetch(${javascriptLiteral(url)}, {`,
      `  method: "${method}",`,
      ...(lines.length ? ["  headers: {", ...lines, "  },"] : []),
      ...(body ? [`  body: ${javascriptLiteral(body)},`] : []),
      "});",
      "console.log(await response.text());",
    ].join("\n");
  },
  ruby({ method, url, login, headers, body }) {
    return [
      'require "net/http"',
      "",
      `uri = URI(${rubyLiteral(url)})`,
      `request = Net::HTTP::${method[0]}${method.slice(1).toLowerCase()}.new(uri)`,
      ...(login ? [`request.basic_auth ${rubyLiteral(login)}, 'PASSWORD'`] : []),
      ...headers.map(([name, value]) => `request[${rubyLiteral(name)}] = ${rubyLiteral(value)}`),
      ...(body ? [`request.body = ${rubyLiteral(body)}`] : []),
      'response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") { |http| http.request(request) }',
      "puts response.body",
    ].join("\n");
  },
};

const languageLinks = document.querySelectorAll("[data-code-language]");
let codeLanguage = document.querySelector("[data-code-language][aria-current]")?.dataset.codeLanguage ?? "curl";

const updateCode = (form) => { form.querySelector("[data-code]").textContent = WRITERS[codeLanguage](requestOf(form)); };
const exampleForms = document.querySelectorAll("form[data-example]");
const updateAllCode = () => exampleForms.forEach(updateCode);

// Show all examples in another language without loading the page, so that edited fields keep their values.
function selectLanguage(key) {
  codeLanguage = key;
  for (const link of languageLinks) {
    if (link.dataset.codeLanguage === key) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const link of document.querySelectorAll('a[href*="?lang="]:not([data-code-language])')) {
    link.href = link.getAttribute("href").replace(/\?lang=\w+/, `?lang=${key}`);
  }
  history.replaceState(history.state, "", `?lang=${key}${location.hash}`);
  updateAllCode();
}

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
      updateCode(field.form);
    }
    button.textContent = doneText;
  });
}

// Send the request of an example and show the response.

async function run(form) {
  const output = form.querySelector("[data-response]");
  const { method, language, mediaType } = form.dataset;
  const token = tokenOf(form);
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

for (const form of exampleForms) {
  form.addEventListener("input", () => updateCode(form));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.dataset.running) return;
    form.dataset.running = "yes";
    await run(form);
    delete form.dataset.running;
  });
  // When a page is reloaded, the browser may restore the values that its fields had before.
  updateCode(form);
}
document.getElementById("api-token")?.addEventListener("input", updateAllCode);
for (const link of languageLinks) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    selectLanguage(link.dataset.codeLanguage);
  });
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

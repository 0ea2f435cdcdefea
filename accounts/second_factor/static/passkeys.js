"use strict";

// A form with `data-passkey` asks the browser for a passkey, or for a new one if the address has `?add`, and sends the answer. Without
// JavaScript, or in a browser without passkeys, it stays hidden.
(() => {
  const decode = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const encode = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // Older browsers lack `parseCreationOptionsFromJSON` and `toJSON`.
  const readOptions = ({ publicKey }) => {
    const options = { ...publicKey, challenge: decode(publicKey.challenge) };
    if (publicKey.user) options.user = { ...publicKey.user, id: decode(publicKey.user.id) };
    for (const name of ["excludeCredentials", "allowCredentials"]) {
      options[name] = (publicKey[name] ?? []).map((known) => ({ ...known, id: decode(known.id) }));
    }
    return options;
  };
  const writeCredential = ({ id, rawId, type, response }) => {
    const found = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (response[name]) found[name] = encode(response[name]);
    }
    return JSON.stringify({ id, rawId: encode(rawId), type, response: found, clientExtensionResults: {} });
  };

  const ask = async (form) => {
    const answer = await fetch(form.dataset.passkey, {
      method: "POST",
      headers: { "X-CSRFToken": form.querySelector("[name=csrfmiddlewaretoken]").value },
    });
    if (!answer.ok) throw new Error(answer.statusText);
    const publicKey = readOptions(await answer.json());
    const isNew = Boolean(publicKey.user);
    const credential = await navigator.credentials[isNew ? "create" : "get"]({ publicKey });
    form.querySelector("[name=passkey]").value = writeCredential(credential);
    form.submit();
  };

  const connect = () => {
    if (!window.PublicKeyCredential) return;
    for (const form of document.querySelectorAll("form[data-passkey]")) {
      form.hidden = false;
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        form.querySelector(".field-error")?.remove();
        ask(form).catch(() => {
          const line = document.createElement("p");
          line.className = "field-error";
          line.setAttribute("role", "alert");
          line.textContent = form.dataset.failed;
          form.querySelector(".actions").before(line);
        });
      });
    }
  };
  document.addEventListener("DOMContentLoaded", connect);
})();

// Show the OpenAPI document of this host. Credentials that are typed in stay in the memory of the page.
const { document: address, csrfToken } = document.getElementById("interface").dataset;

// Send the session of a signed-in user with a request that has no other credentials.
function addSession(request) {
  const url = new URL(request.url, location.href);
  const names = Object.keys(request.headers).map((name) => name.toLowerCase());
  if (csrfToken && url.origin === location.origin && !names.includes("authorization") && !url.searchParams.has("api_token")) {
    request.headers["X-CSRFToken"] = csrfToken;
    request.credentials = "same-origin";
  }
  return request;
}

SwaggerUIBundle({
  url: address,
  dom_id: "#interface",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  requestInterceptor: addSession,
  validatorUrl: null,
});

// Follow the colour scheme of the system, also when it changes while the page is open.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

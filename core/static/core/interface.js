// Shows the OpenAPI document of the host that this page comes from. Credentials stay in the page's memory.
SwaggerUIBundle({
  url: document.getElementById("interface").dataset.document,
  dom_id: "#interface",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});

// Dark where the reader's other pages are, also when that changes while this one is open.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

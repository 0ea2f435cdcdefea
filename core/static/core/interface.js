// Show the OpenAPI document of this host. Credentials stay in the memory of the page.
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

// Follow the colour scheme of the system, also when it changes while the page is open.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

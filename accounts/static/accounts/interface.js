// Shows the OpenAPI document of the host that this page comes from. Credentials stay in the page's memory.
SwaggerUIBundle({
  url: "/app/openapi.json",
  dom_id: "#interface",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});

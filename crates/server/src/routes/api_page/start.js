// Paths are relative, so that the page also works below /w/NAME/ and behind a proxy that adds a prefix.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
});

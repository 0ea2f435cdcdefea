"""The reference of both APIs at `/app/docs`: pages rendered from the OpenAPI document, and the text of `docs`."""

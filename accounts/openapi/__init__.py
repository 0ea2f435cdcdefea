"""The OpenAPI document. What it says follows from the code that serves; each room adds names and examples."""

"""The engine: tenancy, search, the change feed, the JSON interface and pages, for apps that bring their own models."""

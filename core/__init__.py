"""The engine: tenancy, search, the change feed, and the base classes of APIs and pages. Apps add their own models."""

from core.health import checks  # noqa: F401  # they are registered

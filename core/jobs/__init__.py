"""Background jobs: rows of a table that workers (`manage.py worker`) run."""

"""Background jobs: rows of procrastinate's table that workers (`manage.py worker`) run."""

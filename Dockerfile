FROM docker.io/library/python:3.13-slim

# The limits of the allocator are those of `make run` (`config/local/run.py`).
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=4194304
WORKDIR /app

# Pictures for previews of links are drawn with this font. `manage.py backup` needs the client programs of PostgreSQL.
RUN apt-get update && apt-get install --yes --no-install-recommends fonts-dejavu-core postgresql-client \
    && rm -rf /var/lib/apt/lists/*
COPY requirements/production.txt requirements/
RUN pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore --require-hashes \
    --requirement requirements/production.txt

# This user owns no files in the image but the mount points of three volumes: the service writes only to the database, to stored files and to
# its standard output and error. The secrets are created at the first start, and the demo stores e-mails instead of sending them.
RUN useradd --uid 10001 --no-create-home rostrum && install -d -o rostrum /secrets /emails /files
COPY . .
RUN python -m compileall -q accounts config core crm forum webhooks team && python manage.py collectstatic --no-input
USER rostrum

ENV HOST=0.0.0.0 PORT=8000
EXPOSE 8000
# /healthz answers for any host and does not use the database: restarting this container would not repair the database.
HEALTHCHECK --interval=10s --timeout=5s --start-period=70s CMD ["python", "-c", "import http.client, os, sys; \
connection = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); \
connection.request('GET', '/healthz'); sys.exit(connection.getresponse().status != 200)"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0"]

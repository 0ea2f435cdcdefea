"""Static files of `make run`: compressed, with hashed names and unlimited caching."""

import gzip
import http.client
import re
from contextlib import closing
from pathlib import Path

from config.local import run as local_run


def get(service, path):
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)) as connection:
        connection.request("GET", path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        response = connection.getresponse()
        body = response.read()
    assert response.status == 200, path
    return response, gzip.decompress(body)


def test_it_works(shared_service):
    service = shared_service
    _, page = get(service, "/")
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())
    assert len(files) >= 4
    for file in files:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", file)
        response, _ = get(service, file)
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.headers["Cache-Control"] == "max-age=315360000, public, immutable"
    # Every file that the page of the API docs refers to is collected.
    _, page = get(service, "/app/docs/swagger")
    for file in re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', page.decode()):
        get(service, file)


def test_changed_files_are_collected_again(tmp_path, monkeypatch):
    style = tmp_path / "core" / "pages" / "static" / "rostrum.css"
    lock = tmp_path / "requirements" / "local.txt"
    for path in (style, lock):
        path.parent.mkdir(parents=True)
        path.write_text("before")
    monkeypatch.setattr(local_run, "BASE_DIR", tmp_path)
    digests = {local_run.static_digest()}
    for path in (style, lock, Path(style.with_name("new.js"))):
        path.write_text("after")
        digests.add(local_run.static_digest())
    assert len(digests) == 4
    assert local_run.static_digest() in digests

"""The page of `make run` and of the demo in containers that shows e-mails. The service writes them to files instead of sending them.

Production never imports this module: there, EMAIL_URL names a mail server.
"""

import re
import sys
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MAX_SHOWN = 200
NAME = re.compile(r"/([\w.-]+\.log)(?:/(light|dark|text))?\Z")
# Django's file backend writes this line after each e-mail.
SEPARATOR = re.compile(rb"\n-{79}\n")
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 sans-serif; max-width: 66rem; margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
.frames {{ display: flex; flex-wrap: wrap; gap: 1rem; }}
figure {{ margin: 0; max-width: 100%; }}
iframe {{ box-sizing: border-box; max-width: 100%; height: 40rem; border: 1px solid #888; }}
.light {{ width: 600px; }}
.dark {{ width: 390px; }}
pre {{ white-space: pre-wrap; }}
</style></head><body>"""
FRAMES = """<div class="frames">
<figure><figcaption>Light, 600 pixels wide</figcaption>{light}</figure>
<figure><figcaption>Dark, 390 pixels wide</figcaption>{dark}</figure>
</div>"""
# Links open in a new tab, because the service forbids browsers to show its pages in a frame.
FRAME = """<iframe class="{scheme}" sandbox="allow-popups allow-popups-to-escape-sandbox" src="/{name}/{scheme}"
title="The e-mail, {scheme}"></iframe>"""
NEW_TABS = '<base target="_blank">'
# The media query of dark mode, and its replacement for each colour scheme. A page cannot select the colour scheme of its frames.
DARK_MODE = "(prefers-color-scheme: dark)"
MEDIA_QUERIES = {"light": "not all", "dark": "all"}


def read_email(path: Path) -> EmailMessage:
    """Return the first e-mail of a file."""
    return message_from_bytes(SEPARATOR.split(path.read_bytes(), maxsplit=1)[0], policy=policy.default)


def body_of(email: EmailMessage, kind: str) -> str:
    part = email.get_body((kind,))
    return "" if part is None else str(part.get_content())


def show(name: str, email: EmailMessage) -> str:
    """Return the page of an e-mail: its HTML in two frames, its text and its headers. `name` is the name of its file."""
    subject = escape(str(email["Subject"] or "").strip())
    addresses = f"From {escape(str(email['From']))} to {escape(str(email['To']))}, {escape(str(email['Date']))}"
    frames = FRAMES.format(**{scheme: FRAME.format(scheme=scheme, name=name) for scheme in ("light", "dark")})
    text = escape(body_of(email, "plain"))
    headers = "".join(f"{escape(key)}: {escape(str(value).strip())}\n" for key, value in email.items())
    return (
        f'{PAGE.format(title=subject)}<p><a href="/">All e-mails</a></p><h1>{subject}</h1><p>{addresses}</p>{frames}'
        f"<h2>Text</h2><pre>{text}</pre><h2>Headers</h2><pre>{headers}</pre>"
    )


class MailPage:
    """The HTTP server of the page. It runs in threads of the supervisor."""

    def __init__(self, directory: Path, host: str, port: int) -> None:
        self.directory = directory
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content, content_type = page.respond(self.path)
                self.send_response(HTTPStatus.OK if content else HTTPStatus.NOT_FOUND)
                self.send_header("Content-Type", f"{content_type}; charset=utf-8")
                self.send_header("Content-Security-Policy", "script-src 'none'; object-src 'none'")
                self.end_headers()
                self.wfile.write((content or "There is no such e-mail.").encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer((host, port), Handler)

    def start(self) -> None:
        threading.Thread(target=self.server.serve_forever, name="mail page", daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def respond(self, path: str) -> tuple[str, str]:
        """Return the content and its type. The content is empty for an unknown path."""
        if path == "/":
            return self.index(), "text/html"
        match = NAME.match(path)
        file = self.directory / match[1] if match else None
        if match is None or file is None or not file.is_file():
            return "", "text/plain"
        email = read_email(file)
        if match[2] == "text":
            return body_of(email, "plain"), "text/plain"
        if match[2]:
            html = body_of(email, "html").replace(DARK_MODE, MEDIA_QUERIES[match[2]])
            return NEW_TABS + html, "text/html"
        return show(match[1], email), "text/html"

    def index(self) -> str:
        files = sorted(self.directory.glob("*.log"), key=lambda file: file.stat().st_mtime, reverse=True)[:MAX_SHOWN]
        rows = ""
        for file in files:
            email = read_email(file)
            subject, to = escape(str(email["Subject"] or "")), escape(str(email["To"] or ""))
            rows += f'<li><a href="/{escape(file.name)}">{subject}</a><br>{to}, {escape(str(email["Date"] or ""))}</li>'
        page = PAGE.format(title="E-mails")
        return f"{page}<h1>E-mails</h1>" + (
            f"<ol reversed>{rows}</ol>" if rows else "<p>None yet. Reload the page.</p>"
        )


if __name__ == "__main__":
    MailPage(Path(sys.argv[1]), "0.0.0.0", int(sys.argv[2])).server.serve_forever()  # noqa: S104

"""The page of `make run` with the e-mails that the service sent. They are files in the data directory, and nothing is sent anywhere.

Production never imports this: it needs a mail server in EMAIL_URL.
"""

import re
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MAX_SHOWN = 200
NAME = re.compile(r"/([\w.-]+\.log)(?:/(html|text))?\Z")
# Django's backend writes this line after each e-mail of a file.
SEPARATOR = re.compile(rb"\n-{79}\n")
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>E-mails</title><meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem; }
iframe { width: 100%; height: 40rem; border: 1px solid #888; background: Canvas; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style></head><body>"""


def read_email(path: Path) -> EmailMessage:
    """Return the first e-mail of a file."""
    return message_from_bytes(SEPARATOR.split(path.read_bytes(), maxsplit=1)[0], policy=policy.default)


def body_of(email: EmailMessage, kind: str) -> str:
    part = email.get_body((kind,))
    return "" if part is None else str(part.get_content())


class MailPage:
    """The server of the page, in a thread of the supervisor."""

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
        if match[2]:
            kind = "html" if match[2] == "html" else "plain"
            return body_of(email, kind), "text/html" if kind == "html" else "text/plain"
        headers = "".join(f"{escape(name)}: {escape(str(value))}\n" for name, value in email.items())
        frame = f'<iframe sandbox src="/{match[1]}/html" title="HTML"></iframe>'
        text = escape(body_of(email, "plain"))
        return f'{PAGE}<p><a href="/">All e-mails</a></p><pre>{headers}</pre>{frame}<pre>{text}</pre>', "text/html"

    def index(self) -> str:
        files = sorted(self.directory.glob("*.log"), key=lambda file: file.stat().st_mtime, reverse=True)[:MAX_SHOWN]
        rows = ""
        for file in files:
            email = read_email(file)
            subject, to = escape(str(email["Subject"] or "")), escape(str(email["To"] or ""))
            rows += f'<li><a href="/{escape(file.name)}">{subject}</a><br>{to}, {escape(str(email["Date"] or ""))}</li>'
        return f"{PAGE}<h1>E-mails</h1>" + (
            f"<ol reversed>{rows}</ol>" if rows else "<p>None yet. Reload the page.</p>"
        )

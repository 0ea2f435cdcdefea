"""Serve the bare twin as `manage.py serve` does, with the same server and options, but with granian's own threads: one for each request.

Each thread of the twin has its own connection, so there are as many threads as the service has slots.
"""

import os
import sys

SERVER, SERVICE, TWIN = "config.serving.server", "config.wsgi:application", "bench.bare_wsgi:application"


def main() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    # `manage.py serve` replaces its process by the server with `os.execve`. Change the arguments of that call.
    execute = os.execve

    def execute_twin(program: str, arguments: list[str], environment: dict[str, str]) -> None:
        if SERVICE not in arguments or SERVER not in arguments:
            raise SystemExit(f"bench/bare_serve.py: `manage.py serve` does not serve {SERVICE} by {SERVER} any more")
        replaced = {SERVICE: TWIN, SERVER: "bench.bare_serve"}
        arguments = [replaced.get(argument, argument) for argument in arguments]
        arguments[arguments.index("--blocking-threads") + 1] = str(settings.SLOTS)
        execute(program, arguments, environment)

    os.execve = execute_twin
    call_command("serve", *sys.argv[1:])
    raise SystemExit("bench/bare_serve.py: `manage.py serve` does not become the server any more")


def serve() -> None:
    """Run the server without its dispatcher."""
    import granian.server.mp

    from config.serving import server

    callback = granian.server.mp._wsgi_call_wrap
    server.dispatcher_of = callback
    server.main()


if __name__ == "__main__":
    serve() if TWIN in sys.argv else main()

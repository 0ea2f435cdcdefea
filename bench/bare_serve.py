"""`manage.py serve`, but what is served is the bare twin: with the same server, and with each of its options."""

import os
import sys

SERVED, TWIN = "config.wsgi:application", "bench.bare_wsgi:application"


def main() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    execute = os.execv

    def execute_twin(program: str, arguments: list[str]) -> None:
        if SERVED not in arguments:
            raise SystemExit(f"bench/bare_serve.py: `manage.py serve` does not serve {SERVED} any more")
        execute(program, [TWIN if argument == SERVED else argument for argument in arguments])

    os.execv = execute_twin
    call_command("serve", *sys.argv[1:])
    raise SystemExit("bench/bare_serve.py: `manage.py serve` does not become the server any more")


if __name__ == "__main__":
    main()

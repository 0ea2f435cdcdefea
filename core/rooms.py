"""Rooms: the apps of the service. A room consists of packages of one subject each, such as `forum.posts.models` or `crm.deals.models`.

The service finds these parts of a subject by their names, so that no list of a whole room has to name them:

- `models`, and `jobs`
- `registration`, which registers the subject with lower rooms: resources, menu entries, signals, followers of changes
- `urls` with `urlpatterns`, beside the routes of its resources (`core.registry`)
- `openapi.yaml`, the texts and examples of its operations in the OpenAPI document
- `template_functions`, `templates/` and `static/`

A room without subjects, such as `webhooks`, has these parts itself.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule


class Room(AppConfig):
    """The base of the apps of rooms.

    A module `apps` imports this module, not this class, because Django takes the only app in the namespace of `apps`.
    """

    # The names of the packages, in the order in which their parts are registered.
    subjects: tuple[str, ...] = ()

    def ready(self) -> None:
        for name in ("jobs", "registration"):
            list(import_modules(name, rooms=[self]))

    def packages(self) -> list[str]:
        """Return the dotted names of the packages: the room itself, and its subjects."""
        return [self.name, *(f"{self.name}.{subject}" for subject in self.subjects)]


def installed_rooms() -> list[Room]:
    """Return the rooms, from the lowest to the highest."""
    return [config for config in apps.get_app_configs() if isinstance(config, Room)]


def import_modules(name: str, *, rooms: list[Room] | None = None) -> Iterator[ModuleType]:
    """Import the modules of this name of all packages, and yield those that exist. The default is all rooms."""
    for room in installed_rooms() if rooms is None else rooms:
        for package in room.packages():
            if module_has_submodule(import_module(package), name):
                yield import_module(f"{package}.{name}")


def import_models(room: str, *further: str) -> None:
    """Import the modules `models` of all subjects of a room, and the `further` modules. The module `models` of the room calls this.

    Django imports that module when all apps are known and before their models are ready.
    """
    config = apps.get_app_config(room)
    subjects = config.subjects if isinstance(config, Room) else ()
    for subject in subjects:
        if module_has_submodule(import_module(f"{room}.{subject}"), "models"):
            import_module(f"{room}.{subject}.models")
    for name in further:
        import_module(f"{room}.{name}")


def find_parts(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the files or directories of this name of all packages, each with its package as in the names of templates: `forum/posts`."""
    for room in installed_rooms():
        for package in room.packages():
            path = Path(room.path, *package.split(".")[1:], name)
            if path.exists():
                yield package.replace(".", "/"), path

"""Django imports this module to find the models of the room."""

from core.rooms import import_models

import_models("team", "lists.saved_views", "merges.merged_rows", "imports.faults", "imports.keys")

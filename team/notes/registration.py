from forum.notifications.models import NoteSource, register_note_source
from team.notes.pages import details_of, path_of

register_note_source(NoteSource("note", details_of, path_of))

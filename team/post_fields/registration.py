from functools import partial

from core.pages.navigation import register_panel
from team.post_fields.pages import render_panel

register_panel("post", render_panel)
register_panel("pane", partial(render_panel, is_pane=True))

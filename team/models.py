"""Django imports this module to find the models of the room."""

from team.backers import post_revenue
from team.bulk import models as bulk
from team.lists import saved_views
from team.mailings import models as mailings
from team.merges import merged_rows
from team.merges import models as merges
from team.summaries import models as summaries
from team.tasks import calendar_feeds
from team.timeline import models as timeline

__all__ = [
    "bulk",
    "calendar_feeds",
    "mailings",
    "merged_rows",
    "merges",
    "post_revenue",
    "saved_views",
    "summaries",
    "timeline",
]

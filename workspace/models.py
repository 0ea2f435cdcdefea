"""The models of the team's pages."""

from workspace.calendar_feeds import CalendarFeed as CalendarFeed
from workspace.timeline import TimelineEntry as TimelineEntry

"""The models of the team's pages."""

from workspace.calendar_feeds import CalendarFeed as CalendarFeed

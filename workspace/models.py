"""The models of the team's pages."""

from workspace.calendar_feeds import CalendarFeed as CalendarFeed
from workspace.merging import Merge as Merge
from workspace.merging import MergedRow as MergedRow

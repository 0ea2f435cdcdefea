"""The models of the team's pages."""

from workspace.calendar_feeds import CalendarFeed as CalendarFeed
from workspace.merged_rows import MergedRow as MergedRow
from workspace.merging import Merge as Merge

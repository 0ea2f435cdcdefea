"""The models of the team's pages."""

from workspace.calendar_feeds import CalendarFeed as CalendarFeed
from workspace.summaries import ClientRevenue as ClientRevenue
from workspace.summaries import ClientSummary as ClientSummary
from workspace.summaries import ContactSummary as ContactSummary
from workspace.summaries import DealSummary as DealSummary

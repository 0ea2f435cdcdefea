"""The models of the team's pages."""

from workspace.bulk import BulkChange as BulkChange
from workspace.bulk import BulkChangeRow as BulkChangeRow
from workspace.calendar_feeds import CalendarFeed as CalendarFeed
from workspace.merged_rows import MergedRow as MergedRow
from workspace.merging import Merge as Merge
from workspace.messages import Message as Message
from workspace.messages import MessageRecipient as MessageRecipient
from workspace.post_revenue import PostBacker as PostBacker
from workspace.post_revenue import PostRevenue as PostRevenue
from workspace.post_revenue import RevenueChange as RevenueChange
from workspace.summaries import ClientRevenue as ClientRevenue
from workspace.summaries import ClientSummary as ClientSummary
from workspace.summaries import ContactSummary as ContactSummary
from workspace.summaries import DealSummary as DealSummary
from workspace.timeline import TimelineEntry as TimelineEntry
from workspace.views import SavedView as SavedView

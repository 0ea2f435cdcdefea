"""The models of the team's pages."""

from team.backers.post_revenue import PostBacker as PostBacker
from team.backers.post_revenue import PostRevenue as PostRevenue
from team.backers.post_revenue import RevenueChange as RevenueChange
from team.bulk.models import BulkChange as BulkChange
from team.bulk.models import BulkChangeRow as BulkChangeRow
from team.lists.saved_views import SavedView as SavedView
from team.mailings.models import Message as Message
from team.mailings.models import MessageRecipient as MessageRecipient
from team.merges.merged_rows import MergedRow as MergedRow
from team.merges.models import Merge as Merge
from team.summaries.models import ClientRevenue as ClientRevenue
from team.summaries.models import ClientSummary as ClientSummary
from team.summaries.models import ContactSummary as ContactSummary
from team.summaries.models import DealSummary as DealSummary
from team.tasks.calendar_feeds import CalendarFeed as CalendarFeed
from team.timeline.models import TimelineEntry as TimelineEntry

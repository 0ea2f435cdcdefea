"""The models of the forum, for Django. Code imports each from its own module."""

from forum.activities.models import Activity as Activity
from forum.categories.models import Category as Category
from forum.comments.models import Comment as Comment
from forum.comments.models import CommentVersion as CommentVersion
from forum.content_reports.models import ContentReport as ContentReport
from forum.follows.models import Follow as Follow
from forum.forums.membership import ForumAddress as ForumAddress
from forum.forums.membership import ForumMember as ForumMember
from forum.forums.models import Forum as Forum
from forum.lists.facets import FacetCount as FacetCount
from forum.notifications.models import Notification as Notification
from forum.posts.models import Post as Post
from forum.posts.models import StatusChange as StatusChange
from forum.posts.sort_keys import PostSortKey as PostSortKey
from forum.votes.models import ProxyVote as ProxyVote
from forum.votes.models import Vote as Vote

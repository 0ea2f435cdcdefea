"""The models of the forum, for Django. Code imports each from its own module."""

from forum.activities import Activity as Activity
from forum.categories import Category as Category
from forum.comments import Comment as Comment
from forum.comments import CommentVersion as CommentVersion
from forum.content_reports import ContentReport as ContentReport
from forum.facets import FacetCount as FacetCount
from forum.follows import Follow as Follow
from forum.forums import Forum as Forum
from forum.membership import ForumAddress as ForumAddress
from forum.membership import ForumMember as ForumMember
from forum.notification_models import Notification as Notification
from forum.posts import Post as Post
from forum.posts import StatusChange as StatusChange
from forum.sort_keys import PostSortKey as PostSortKey
from forum.votes import ProxyVote as ProxyVote
from forum.votes import Vote as Vote

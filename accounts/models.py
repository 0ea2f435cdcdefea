"""The models of the app, imported here for Django. Each subject has its own module."""

from accounts.access.models import Group as Group
from accounts.account.branding import Branding as Branding
from accounts.account.models import Account as Account
from accounts.hosts.models import Host as Host
from accounts.sessions.models import Session as Session
from accounts.sign_in.codes import SignInCode as SignInCode
from accounts.sign_in.handovers import Handover as Handover
from accounts.statuses.models import Status as Status
from accounts.statuses.pipelines import Pipeline as Pipeline
from accounts.tags.models import Tag as Tag
from accounts.tags.models import TagCount as TagCount
from accounts.tokens.models import APIToken as APIToken
from accounts.users.invitations import Invitation as Invitation
from accounts.users.models import User as User

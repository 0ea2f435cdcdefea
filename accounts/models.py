"""The models of the app, imported here for Django. Each subject has its own module."""

from accounts.account import Account as Account
from accounts.branding import Branding as Branding
from accounts.groups import Group as Group
from accounts.handovers import Handover as Handover
from accounts.hosts import Host as Host
from accounts.invitations import Invitation as Invitation
from accounts.pipelines import Pipeline as Pipeline
from accounts.sessions import Session as Session
from accounts.sign_in_codes import SignInCode as SignInCode
from accounts.statuses import Status as Status
from accounts.tags import Tag as Tag
from accounts.tags import TagCount as TagCount
from accounts.tokens import APIToken as APIToken
from accounts.users import User as User

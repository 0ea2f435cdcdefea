"""The models of the app, each in a module of its own, named here for Django."""

from accounts.account import Account as Account
from accounts.account import random_account_id as random_account_id  # The first migration names it here.
from accounts.hosts import Host as Host
from accounts.sessions import Invitation as Invitation
from accounts.sessions import Session as Session
from accounts.statuses import Status as Status
from accounts.tags import Tag as Tag
from accounts.tags import TagCount as TagCount
from accounts.tokens import APIToken as APIToken
from accounts.users import User as User

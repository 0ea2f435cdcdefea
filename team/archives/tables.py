"""The contents of the archive of an account: its tables, in the order in which they are imported, and those that are left out, with the reasons.

A test compares this module with the database: each table with a column `account_id` is in `TABLES` or in `LEFT_OUT`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from zoneinfo import available_timezones

from django.apps import apps
from django.conf import settings
from django.db import models

from accounts.account.exchange_rates import are_rates
from accounts.account.models import Account
from accounts.attachments.holders import holders
from accounts.users.models import User
from accounts.users.preferences import are_preferences
from core.db.fields import AnyField
from core.db.tenancy import FoldedField
from core.http.regions import is_country
from core.pages.navigation import start_page_choices
from core.rows.declared import DeclaredField
from crm.clients.models import Client
from crm.contacts.models import Contact
from team.batches.restoring import COMPANIONS
from team.bulk.actions import ACTIONS, RESOURCES
from team.timeline.models import KINDS

DERIVED = "an import computes it from the other rows"
LOG = "a log or a queue of one installation"
NOTIFIED = "nobody is notified again of what has happened"
OWN = "the importing account keeps its own"
SECRET = "keys and links of one installation do not work in another"  # noqa: S105

# Columns with rendered Markdown, and the columns with the texts. An import renders the texts anew.
RENDERED = {"content_html": "content", "response_html": "response", "comment_html": "comment"}

# The fields that a merge can change, and whose former values its undo assigns.
MERGED_FIELDS = {
    column.attname
    for model in (Client, Contact)
    for column in model._meta.concrete_fields
    if isinstance(column, DeclaredField) and column.editable
}.union(*COMPANIONS.values())


def are_changes_of_merge(value: Any) -> bool:
    return all(name in MERGED_FIELDS or name.startswith("additional_fields[") for name in value)


def quoted(name: str) -> str:
    return f'"{name}"'


@dataclass(frozen=True)
class ArchivedTable:
    """A table of an archive."""

    # The label of the model.
    label: str
    # The columns that are left out, by the reason, beside those that `is_derived` names.
    left_out: Mapping[str, str] = field(default_factory=dict)
    # The SQL of values that are not the column of their name.
    expressions: Mapping[str, str] = field(default_factory=dict)
    # The values that an import writes in columns that are left out.
    values: Mapping[str, int] = field(default_factory=dict)
    # By column, the values that an import replaces.
    replaced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By column, whether an import accepts a value. The rules of the fields hold as well.
    checks: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    # The columns with links in a circle, which an import writes when the rows of all tables exist.
    late: tuple[str, ...] = ()
    # The SQL condition of the rows that are in an archive.
    where: str = "true"

    @cached_property
    def model(self) -> type[models.Model]:
        return apps.get_model(self.label)

    @property
    def name(self) -> str:
        """The name in the database."""
        return self.model._meta.db_table

    @cached_property
    def fields(self) -> "dict[str, AnyField]":
        """The fields of the columns of the model that are in an archive, by column."""
        left_out = {"account_id", *" ".join(self.left_out.values()).split()}
        fields = fields_of(self.model)
        return {name: each for name, each in fields.items() if name not in left_out and not is_derived(each)}

    @property
    def columns(self) -> list[str]:
        return list({**self.fields, **self.expressions})

    @property
    def select(self) -> str:
        """The statement that returns the rows of an account as JSON, in the order of the primary key."""
        values = {name: self.expressions.get(name, f"row.{quoted(name)}") for name in self.columns}
        columns = ", ".join(f"{value} AS {quoted(name)}" for name, value in values.items())
        key = ", ".join(f"row.{quoted(each.attname)}" for each in self.model._meta.pk_fields)
        account = "id" if self.label == settings.ACCOUNT_MODEL else "account_id"
        rows = f"SELECT {columns} FROM {self.name} AS row WHERE row.{account} = %s AND {self.where} ORDER BY {key}"  # noqa: S608
        return f"SELECT row_to_json(selected)::text FROM ({rows}) AS selected"  # noqa: S608


def fields_of(model: type[models.Model]) -> "dict[str, AnyField]":
    """Return the fields of a model by column."""
    return {each.column: each for each in model._meta.concrete_fields if each.column}


def is_derived(column: AnyField) -> bool:
    """Return whether an import computes the column from others of the row."""
    return isinstance(column, FoldedField | models.GeneratedField) or column.column in RENDERED


def plain(**labels: str) -> dict[str, ArchivedTable]:
    return {name: ArchivedTable(label) for name, label in labels.items()}


OF_READER = {"time_zone": available_timezones().__contains__, "language": dict(settings.LANGUAGES).__contains__}
COUNTS = "votes_cache comments_cache internal_comments_cache"

# By the name of the file. A table comes after those to which its rows link.
TABLES: dict[str, ArchivedTable] = {
    "account": ArchivedTable(
        "accounts.Account",
        # New accounts have lower limits, so an import must not make an account older.
        {
            OWN: "id prefix from_partner plan_id files_quota rate_limit team_limit sso_domains sso_exempt_id second_factor_roles suspended_at suspended_reason deletion_at examples created_at updated_at",
            SECRET: "partner_key",
            DERIVED: "resources_with_fields",
        },
        checks={
            **OF_READER,
            "country": lambda country: country == "" or is_country(country),
            "start_page": lambda page: page in dict(start_page_choices()),
            "trash_days": Account.keeps_in_trash,
            "inactive_member_months": Account.keeps_inactive_members,
            "exchange_rates": are_rates,
        },
    ),
    # The bytes are in the files `files/<id>`. A file that expires belongs to a task of this installation.
    "files": ArchivedTable("core.StoredFile", {OWN: "key expires_at is_counted"}, where="row.expires_at IS NULL"),
    "branding": ArchivedTable("accounts.Branding", {DERIVED: "logo_key icon_key share_image_key"}),
    "groups": ArchivedTable("accounts.Group"),
    "users": ArchivedTable(
        "accounts.User",
        {SECRET: "password second_factor_at", NOTIFIED: "unread_notifications erasure_notice_at"},
        replaced={"role": {"owner": "admin"}},
        checks={
            **OF_READER,
            "login": lambda login: re.fullmatch(User.LOGIN_PATTERN, login) is not None,
            "preferences": are_preferences,
        },
    ),
    **plain(pipelines="accounts.Pipeline", statuses="accounts.Status", tags="accounts.Tag"),
    **plain(field_definitions="accounts.FieldDefinition", views="team.SavedView", goals="team.Goal"),
    "forums": ArchivedTable(
        "forum.Forum",
        {"`host` has the address, or null for that of the account": "host_id"},
        expressions={
            "host": "(SELECT nullif(host.name, account.prefix) FROM accounts_host AS host JOIN accounts_account AS account"
            " ON account.id = host.account_id WHERE host.id = row.host_id)"
        },
    ),
    **plain(categories="forum.Category", forum_members="forum.ForumMember", forum_addresses="forum.ForumAddress"),
    "contact_lists": ArchivedTable("crm.ContactList"),
    "clients": ArchivedTable("crm.Client", late=("contact_id", "trashed_contact_id")),
    **plain(contacts="crm.Contact", contact_list_memberships="crm.ContactListMembership", deals="crm.Deal"),
    # The keys that the team has dismissed. An import computes the others.
    **{
        f"{resource}_keys": ArchivedTable(
            f"team.{resource.capitalize()}Key",
            {DERIVED: "is_shared is_dismissed"},
            values={"is_shared": True, "is_dismissed": True},
            where="row.is_shared AND row.is_dismissed",
        )
        for resource in ("client", "contact")
    },
    **plain(deal_stages="crm.DealStage", notes="crm.Note", user_links="crm.UserLink"),
    "posts": ArchivedTable(
        "forum.Post",
        {DERIVED: f"vote_weight {COUNTS}"},
        values=dict.fromkeys(COUNTS.split(), 0),
        late=("duplicate_from_id",),
    ),
    "comments": ArchivedTable("forum.Comment", late=("parent_id",)),
    **plain(comment_reactions="forum.CommentReaction", comment_versions="forum.CommentVersion", votes="forum.Vote"),
    **plain(proxy_votes="forum.ProxyVote", follows="forum.Follow", status_changes="forum.StatusChange"),
    **plain(saved_replies="forum.SavedReply"),
    # The account of the archive publishes the answers that wait for their time.
    "answers": ArchivedTable(
        "forum.Answer",
        expressions={"failure": "CASE WHEN published_at IS NULL AND failure = '' THEN 'archive' ELSE failure END"},
    ),
    # A draft and its file expire.
    "attachments": ArchivedTable(
        "accounts.Attachment", checks={"resource": holders.__contains__}, where="row.row_id IS NOT NULL"
    ),
    "content_reports": ArchivedTable("forum.ContentReport"),
    "timeline": ArchivedTable(
        "team.TimelineEntry",
        {"a number among the entries of all accounts, which the order of the rows gives again": "number"},
        checks={"kind": KINDS.__contains__},
    ),
    "merges": ArchivedTable("team.Merge", checks={"changes": are_changes_of_merge}),
    "merged_rows": ArchivedTable("team.MergedRow", expressions={"deleted": "row.deleted - 'account_id'"}),
    # No job continues what was in progress: the rest of a bulk change, and of the e-mails of a message.
    "bulk_changes": ArchivedTable(
        "team.BulkChange",
        replaced={"state": {"running": "cancelled", "undoing": "done"}},
        checks={"action": ACTIONS.__contains__, "resource": RESOURCES.__contains__},
    ),
    "bulk_change_rows": ArchivedTable("team.BulkChangeRow"),
    "messages": ArchivedTable("team.Message", replaced={"state": {"sending": "cancelled"}}),
    "message_recipients": ArchivedTable("team.MessageRecipient"),
}

# The other tables with rows of accounts, by the reason.
LEFT_OUT: dict[str, str] = {
    SECRET: "accounts_apitoken accounts_handover accounts_identity accounts_oidcprovider accounts_shopsignin accounts_invitation accounts_secondfactor accounts_session accounts_signincode"
    " accounts_storeddraft"
    " team_calendarfeed",
    LOG: "core_change core_follower core_idempotentanswer core_job forum_votechange team_revenuechange",
    NOTIFIED: "forum_activity forum_notification",
    "it is continued or undone in the installation that began it": "team_import team_importfault team_importkey team_importrow"
    " team_export team_movein team_movedrow",
    "each installation has its own": "accounts_auditentry",
    DERIVED: "accounts_tagcount core_staleword core_word crm_clientexternalid crm_clientlastchange crm_contactexternalid"
    " crm_contactlastchange crm_contactlistcount crm_dealcount crm_dealexternalid crm_deallastchange forum_facetcount"
    " forum_postsortkey team_clientrevenue team_clientsummary team_contactsummary team_dealsummary team_postbacker"
    " team_postrevenue",
    "`host` in forums.jsonl has the address of each forum": "accounts_host",
    "`last_id` in the manifest has the highest id": "counter",
}

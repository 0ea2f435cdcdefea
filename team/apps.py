from django.utils.translation import gettext_lazy as _

from core import rooms


class Team(rooms.Room):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "team"
    # The figures of suggestions are queued after the entries and the summaries are written, so timeline comes before backers. After a
    # change of an outcome or of the currency, backers come before summaries.
    subjects = (
        "timeline",
        "backers",
        "summaries",
        "menu",
        "fields",
        "search",
        "tasks",
        "notes",
        "list_queries",
        "lists",
        "exports",
        "spreadsheets",
        "board",
        "merges",
        "duplicates",
        "batches",
        "import_lines",
        "imports",
        "move_in",
        "import_pages",
        "bulk",
        "mailings",
        "goals",
        "reports",
        "records",
        "post_fields",
        "home",
        "archives",
    )
    field_labels = {
        "action": _("action"),
        "ids": _("ids"),
        "resource": _("kind of rows"),
        "contact_list": _("contact list"),
        "query": _("filters"),
        "shared": _("share with the team"),
        "sort": _("order"),
        "sums": _("sums"),
        "view": _("view"),
        "column": _("column"),
        "file": _("file"),
        "match": _("match by"),
        "defaults": _("default values"),
        "voters": _("voters"),
        "comments": _("comments"),
        "columns": _("columns"),
        "from": _("first month"),
        "to": _("last month"),
        "step": _("step"),
        "reports": _("reports"),
        "reason": _("reason"),
        "merge": _("merge"),
        "merged_client": _("other client"),
        "merged_contact": _("other contact"),
        "among": _("recipients"),
        "message": _("message"),
        "segment": _("segment"),
        "goal": _("goal"),
        "measure": _("goal"),
        "period": _("period"),
        "target": _("target"),
        "user_id": _("user"),
        "min_revenue": _("minimum revenue"),
        "min_clients": _("minimum number of clients"),
        "token": _("token"),
        "id": _("id"),
    }

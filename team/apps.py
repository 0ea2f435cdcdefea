from django.utils.translation import gettext_lazy as _

from core import rooms


class TeamConfig(rooms.Room):
    """The team's pages over clients, contacts, deals, tasks and suggestions."""

    name = "team"
    field_labels = {
        "action": _("action"),
        "ids": _("ids"),
        "resource": _("kind of rows"),
        "contact_list": _("contact list"),
        "query": _("filters"),
        "shared": _("share with the team"),
        "view": _("view"),
        "column": _("column"),
        "reason": _("reason"),
        "merge": _("merge"),
        "merged_client": _("other client"),
        "merged_contact": _("other contact"),
        "among": _("recipients"),
        "message": _("message"),
        "segment": _("segment"),
        "min_revenue": _("minimum revenue"),
        "min_clients": _("minimum number of clients"),
    }

    def ready(self) -> None:
        super().ready()
        from accounts.account.models import currency_changed
        from accounts.statuses.models import outcome_changed
        from accounts.users.models import access_ended
        from core.pages import panels
        from core.registry import newest_id, registry
        from core.rows.trash import restoring
        from crm.clients.models import LAST_ACTIVITY
        from crm.fields.api.conditions import register_reader
        from forum.lists import team_filters
        from forum.notifications.texts import register_task_route
        from forum.posts.registration import live_posts
        from team.backers.pages.backers import render_backers_panel
        from team.backers.pages.suggestions import CustomerFilter, register_orders, render_revenue
        from team.backers.revenue_changes import queue_after_currency, queue_after_outcome, register_revenue_changes
        from team.backers.segments import register_segments
        from team.bulk.pages import register_selection_actions
        from team.lists.saved_views import read_api_list
        from team.mailings.sending import register_messages
        from team.menu.entries import register_entries
        from team.merges.models import MODELS, refuse_restore, second_newest
        from team.notes.notifications import register_notes
        from team.records.pages.user_links import render_user_panel
        from team.resources import RESOURCES
        from team.summaries.jobs import follow_currency, follow_outcome
        from team.summaries.models import last_activity_of_client
        from team.tasks.calendar_feeds import end_calendar
        from team.tasks.menu import register_task_entries
        from team.timeline.derivations import register_derivations

        registry.register(*RESOURCES)
        # In this order: the figures of suggestions are queued after the entries and summaries are written.
        register_derivations()
        register_revenue_changes()
        register_entries()
        register_task_entries()
        LAST_ACTIVITY[:] = [last_activity_of_client()]
        outcome_changed.connect(queue_after_outcome)
        outcome_changed.connect(follow_outcome)
        access_ended.connect(end_calendar)
        currency_changed.connect(queue_after_currency)
        currency_changed.connect(follow_currency)
        register_notes()
        register_messages()
        register_segments()
        register_selection_actions()
        register_task_route("team-task")
        register_reader(read_api_list)
        registry.register_sample(
            "views", "view", lambda request: newest_id(request.account.saved_views.visible_to(request.user))
        )
        for resource in MODELS:
            registry.register_sample(f"merged {resource}s", f"merged_{resource}", second_newest(resource))
        registry.register_sample(
            "bulk_changes",
            "bulk_change",
            lambda request: newest_id(request.account.bulk_changes.visible_to(request.user)),
        )
        for name in ("clients", "revenue"):
            registry.register_sample(f"posts/{name}", "suggestion", lambda request: newest_id(live_posts(request)))
        panels.register("post", render_backers_panel)
        panels.register("user", render_user_panel)
        for page in ("inbox", "posts"):
            panels.register_for_rows(page, render_revenue)
        register_orders()
        team_filters.register_filter(CustomerFilter.read)
        for model in MODELS.values():
            restoring.connect(refuse_restore, sender=model)
        registry.register_sample(
            "merges", "merge", lambda request: newest_id(request.account.merges.active().accessible_to(request.user))
        )

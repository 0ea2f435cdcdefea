"""The deal board, and the form that moves a deal: in a dialog, by dragging, or on a page of its own.

The parameter `board` of the form is the query string of the board from which the deal is moved. Then the response to htmx replaces what
changed on the board: the card, the totals of both columns, or after a conflict all columns.
"""

import json
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.account.models import Account
from accounts.layout.forms import Form
from accounts.layout.settings import parse_id
from accounts.statuses.models import Pipeline, Status, pipeline_name, reason_text, status_name, stored_reason
from core.db.time_limit import TooSlow
from core.db.transactions import in_transaction
from core.errors import Conflict, FieldError, FieldErrors
from core.pages.base import redirect
from core.pages.errors import field_message
from core.pages.number_fields import WholeNumberField
from crm.deals.models import Deal
from team.board.columns import Board, BoardColumn, BoardQuery, Card, read_board, read_cards
from team.board.moves import MAX_PLACE, Move, former_place, move_deal
from team.fields.names import Names
from team.list_queries.declarations import LISTS
from team.list_queries.queries import ListQuery
from team.lists.pages.filters import FilterForm
from team.lists.pages.list import RecordListPage
from team.menu.pages import TeamPage, TeamRequest

# The element of the page that tells screen readers about a move.
NEWS = "#board-news"


class BoardPage(RecordListPage):
    """The deals of a pipeline, in one column for each status."""

    template_name = "team/board/board.html"
    declaration = LISTS["deal"]
    query_class = BoardQuery

    def show(self, query: ListQuery, filter_form: FilterForm | None = None) -> HttpResponse:
        assert isinstance(query, BoardQuery)  # noqa: S101, narrows the type
        query.is_page = True
        board, is_too_slow = None, False
        try:
            board = read_board(query)
        except TooSlow:
            is_too_slow = True
        if board is not None and query.column is not None and self.request.htmx:
            return self.render("team/board/column_cards.html", column=board.columns[0], query=query)
        names = Names.read(self.request.account, self.request.user, query.links)
        is_invalid = bool(query.errors) or (filter_form is not None and bool(filter_form.error))
        return self.render(
            http_status=422 if is_invalid else 200,
            query=query,
            hidden=query.hidden,
            board=board,
            pipelines=self.pipelines(query, board),
            is_too_slow=is_too_slow,
            errors=[(error.field, error.text) for error in query.errors],
            tabs=self.tabs(query),
            **self.filter_context(query, names, filter_form),
            clear=query.link((name, value) for name, value in query.parameters() if name == "pipeline_id"),
        )

    def tabs(self, query: ListQuery) -> list[tuple[str, str, bool]]:
        """Return the views that make a difference on a board, with its pipeline."""
        assert isinstance(query, BoardQuery)  # noqa: S101, narrows the type
        pipeline = [("pipeline_id", str(query.pipeline_id))] if query.pipeline_id is not None else []
        filters = [pair for pair in query.parameters() if pair[0] not in ("pipeline_id", "columns", "sort")]
        views = [(_("All"), list[tuple[str, str]]()), (_("Mine"), [("mine", "true")])]
        is_standard = query.view_id is None
        tabs = [
            (label, f"?{urlencode([*pipeline, *pairs])}", is_standard and pairs == filters) for label, pairs in views
        ]
        return tabs + self.tabs_of_views(query)

    @staticmethod
    def pipelines(query: BoardQuery, board: Board | None) -> list[tuple[Pipeline, str, bool]]:
        """Return each pipeline with its query string, and whether the board shows it; nothing if there is only one."""
        if board is None or len(board.pipelines) < 2:
            return []
        paths = {pipeline: query.query_string(pipeline_id=str(pipeline.id)) for pipeline in board.pipelines}
        return [(pipeline, path, pipeline.id == board.pipeline.id) for pipeline, path in paths.items()]


class MoveForm(Form):
    """The form for the status, the place in the column and the reason."""

    status_id = forms.ChoiceField(label=gettext_lazy("Status"))
    place = WholeNumberField(
        label=gettext_lazy("Place in the column"),
        required=False,
        min_value=1,
        max_value=MAX_PLACE,
        help_text=gettext_lazy("1 is at the top. Leave it empty for the top of another status."),
    )
    reason = forms.ChoiceField(label=gettext_lazy("Reason"), required=False, widget=forms.RadioSelect)
    other_reason = forms.CharField(label=gettext_lazy("Another reason"), required=False, max_length=255)
    after_id = forms.IntegerField(required=False, min_value=0, max_value=10**18 - 1, widget=forms.HiddenInput)
    seen_status_id = forms.IntegerField(required=False, min_value=0, max_value=10**18 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, account: Account, statuses: list[Status], chosen: Status | None, **kwargs: Any):
        super().__init__(*args, auto_id="move-%s", **kwargs)
        self.asks_reason = chosen is not None and chosen.outcome != Status.Outcome.OPEN
        if not self.asks_reason:
            del self.fields["reason"], self.fields["other_reason"]
            self.set_choices("status_id", status_choices(account, statuses))
            return
        # The status is chosen already; the question is why.
        assert chosen is not None  # noqa: S101, narrows the type
        self.fields["status_id"].widget = forms.HiddenInput()
        self.set_choices("status_id", [(chosen.id, "")])
        self.fields["place"].widget = forms.HiddenInput()
        is_won = chosen.outcome == Status.Outcome.WON
        offered = account.won_reasons if is_won else account.lost_reasons
        reasons = [(reason, reason_text(reason)) for reason in offered]
        self.set_choices("reason", [*reasons, ("", gettext_lazy("No reason, or another one"))])

    @property
    def move_values(self) -> dict[str, Any]:
        values = self.cleaned_data
        other = stored_reason(values.get("other_reason") or "")
        reason = (other or values.get("reason") or "") if self.asks_reason else None
        places = {name: values[name] for name in ("after_id", "place", "seen_status_id")}
        return {"status_id": int(values["status_id"]), "reason": reason, **places}


def status_choices(account: Account, statuses: list[Status]) -> list[tuple[object, object]]:
    """Return the statuses as choices, in groups if they belong to several pipelines."""
    ids = {status.pipeline_id for status in statuses}
    if len(ids) < 2:
        return [(status.id, status_name(status)) for status in statuses]
    groups = {id: [(status.id, status_name(status)) for status in statuses if status.pipeline_id == id] for id in ids}
    pipelines = [pipeline for pipeline in account.pipelines.order_by("position", "id") if pipeline.id in groups]
    return [(pipeline_name(pipeline), groups[pipeline.id]) for pipeline in pipelines]


class MovePage(TeamPage):
    """The form that moves a deal. It asks for a reason if the deal is won or lost."""

    template_name = "team/board/move.html"
    section = "deals"

    @property
    def board_parameters(self) -> str | None:
        """The query string of the board from which the deal is moved, or None."""
        return self.request.GET.get("board")

    def find(self, id: int) -> Deal:
        return get_object_or_404(self.request.account.deals.live().accessible_to(self.request.user), id=id)

    def get(self, request: TeamRequest, id: int) -> HttpResponse:
        deal, statuses = self.find(id), request.account.deal_statuses()
        chosen = next((status for status in statuses if status.id == parse_id(request.GET.get("status_id"))), None)
        seen_id = parse_id(request.GET.get("seen_status_id"))
        initial = {
            "status_id": chosen.id if chosen else deal.column,
            "after_id": parse_id(request.GET.get("after_id")),
            "seen_status_id": deal.column if seen_id is None else seen_id,
        }
        form = MoveForm(account=request.account, statuses=statuses, chosen=chosen, initial=initial)
        return self.show(deal, chosen, form)

    def show(self, deal: Deal, chosen: Status | None, form: MoveForm) -> HttpResponse:
        heading = _("Move “%(name)s”") % {"name": deal.name}
        if form.asks_reason and chosen is not None:
            is_won = chosen.outcome == Status.Outcome.WON
            heading = (_("Why is “%(name)s” won?") if is_won else _("Why is “%(name)s” lost?")) % {"name": deal.name}
        return self.render_form(
            form,
            "team/board/move_form.html" if self.in_dialog else None,
            deal=deal,
            chosen=chosen if form.asks_reason else None,
            heading=heading,
            in_dialog=self.in_dialog,
            back=self.path_back(deal.id),
        )

    def path_back(self, id: int) -> str:
        if self.board_parameters is None:
            return reverse("team-deal", args=[id])
        return reverse("team-board") + (f"?{self.board_query_string()}" if self.board_parameters else "")

    def board_query_string(self) -> str:
        return QueryDict((self.board_parameters or "").removeprefix("?")).urlencode()

    def post(self, request: TeamRequest, id: int) -> HttpResponse:
        statuses = request.account.deal_statuses()
        status_id = parse_id(request.POST.get("status_id"))
        chosen = next((status for status in statuses if status.id == status_id), None)
        if chosen is None:
            return self.refuse(id, _("This status was deleted meanwhile. Choose another one."), [])
        if chosen.outcome != Status.Outcome.OPEN and "reason" not in request.POST:
            return self.ask_reason(id, chosen, statuses)
        form = MoveForm(request.POST, account=request.account, statuses=statuses, chosen=chosen)
        if not form.is_valid():
            return self.show(self.find(id), chosen, form)
        move = Move(id, **form.move_values)
        former: dict[str, object] = {}

        def act() -> Deal:
            if request.htmx and self.board_parameters is not None:
                former.update(former_place(request.account, request.user, id))
            return move_deal(request.account, request.user, move)

        try:
            deal = in_transaction(act)
        except Deal.DoesNotExist:
            message = _("This deal can't be found. It may have been deleted, or given to somebody else.")
            return self.refuse(id, message, [])
        except Conflict as caught:
            return self.refuse(id, str(caught.message), statuses)
        except FieldErrors as caught:
            return self.refuse(id, " ".join(self.describe(error) for error in caught.errors), statuses)
        return self.respond(deal, chosen, form, former)

    def describe(self, error: FieldError) -> str:
        return field_message(error) if error.field == "status_id" else super().describe(error)

    def ask_reason(self, id: int, chosen: Status, statuses: list[Status]) -> HttpResponse:
        """Show the question for the reason, with the other values that were sent."""
        names = ("status_id", "place", "after_id", "seen_status_id")
        initial = {name: self.request.POST[name] for name in names if name in self.request.POST}
        form = MoveForm(account=self.request.account, statuses=statuses, chosen=chosen, initial=initial)
        return self.show(self.find(id), chosen, form)

    def respond(self, deal: Deal, status: Status, form: MoveForm, former: dict[str, object]) -> HttpResponse:
        news = _("“%(name)s” has no status now.") if deal.status_id is None else _("“%(name)s” is in %(status)s now.")
        news = news % {"name": deal.name, "status": status_name(status)}
        if not self.request.htmx or self.board_parameters is None:
            messages.success(self.request, news)
            return self.go_to(self.path_back(deal.id))
        query, values = self.query(), form.cleaned_data
        # The page has no column for deals without a status until there are any.
        is_whole = status.id == Status.NONE_ID and values["seen_status_id"] != Status.NONE_ID
        # The sum of the open deals changes if the deal was closed or opened again.
        outcomes = {each.id: each.outcome for each in self.request.account.deal_statuses()}
        is_whole = is_whole or outcomes.get(cast(int, former.get("status_id"))) != status.outcome
        try:
            board = read_board(query, status_ids=None if is_whole else {status.id, values["seen_status_id"]} - {None})
        except TooSlow:
            return self.go_to(self.path_back(deal.id))
        card, above = find_card(board.columns, deal.id)
        if card is None and values["after_id"] is not None and not is_whole:
            # The card is below the first ones, which is where the user has dragged it.
            by_id = {column.status.id: column for column in board.columns}
            card, above = read_cards(query, [deal.id], by_id).get(deal.id), values["after_id"]
        response = self.render(
            "team/board/moved.html",
            news=news,
            board=board,
            is_whole=is_whole,
            deal=deal,
            cards=[card] if card is not None else [],
            above=above,
            query=query,
            undo={**former, "seen_status_id": deal.column},
            undo_path=self.request.get_full_path(),
        )
        return self.aimed(response, NEWS, {"dialog-close": "", "card-moved": {"id": f"deal-{deal.id}"}})

    def refuse(self, id: int, message: str, statuses: list[Status]) -> HttpResponse:
        """Respond with the reason why nothing was moved. On the board, show the present columns too."""
        if not self.request.htmx:
            # Without the board, a deal that the user may not access is not found.
            deal: Deal = get_object_or_404(self.request.account.deals.accessible_to(self.request.user), id=id)
            messages.error(self.request, message)
            is_gone = deal.trashed_at is not None and self.board_parameters is None
            return redirect("team-deals") if is_gone else redirect(self.path_back(id))
        messages.error(self.request, message)
        query = self.query()
        try:
            board = None if self.board_parameters is None else read_board(query)
        except TooSlow:
            board = None
        if board is None:
            return self.go_to(self.path_back(id))
        response = self.render("team/board/refused.html", board=board, query=query)
        return self.aimed(response, "#messages", {"dialog-close": ""})

    def query(self) -> BoardQuery:
        account, user = self.request.account, self.request.user
        query = BoardQuery.read(LISTS["deal"], QueryDict(self.board_query_string()), account=account, user=user)
        query.is_page = True
        return query

    @staticmethod
    def aimed(response: HttpResponse, target: str, events: dict[str, object]) -> HttpResponse:
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = target, "innerHTML"
        response.headers["HX-Trigger-After-Settle"] = json.dumps(events)
        return response


def find_card(columns: list[BoardColumn], id: int) -> tuple[Card | None, int]:
    """Return the card of a deal among the first cards of the columns, and the id of the card above it, 0 for none."""
    for column in columns:
        for index, card in enumerate(column.cards):
            if card.id == id:
                return card, column.cards[index - 1].id if index else 0
    return None, 0

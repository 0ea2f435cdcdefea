"""The settings page of the goals."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.hosts.requests import UserRequest
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id, write_row
from core.pages.base import redirect
from core.pages.number_fields import WholeNumberField
from team.fields.names import name_of_user, people_of
from team.goals.api import GoalSerializer
from team.goals.models import MAX_TARGET, Goal


class GoalForm(Form):
    user_id = forms.TypedChoiceField(label=gettext_lazy("Whose goal"), coerce=int, empty_value=None, required=False)
    measure = forms.ChoiceField(label=gettext_lazy("Goal"), choices=Goal.Measure.choices)
    period = forms.ChoiceField(label=gettext_lazy("Period"), choices=Goal.Period.choices)
    target = WholeNumberField(label=gettext_lazy("Target"), min_value=1, max_value=MAX_TARGET)

    def __init__(self, *args: Any, request: UserRequest) -> None:
        super().__init__(*args, initial={"measure": Goal.Measure.AMOUNT})
        self.set_choices("user_id", [("", _("The team's")), *people_of(request.account)])
        self.fields["target"].help_text = _("An amount is in %(currency)s.") % {"currency": request.account.currency}


class GoalsPage(SettingsPage):
    """The goals, and a form that adds one, or changes the target of the goal with the same user, measure and period."""

    template_name = "team/goals/goals.html"
    part = "goals"
    actions = {"save": "save", "delete": "delete"}

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show(GoalForm(request=request))

    def show(self, form: GoalForm) -> HttpResponse:
        goals = self.request.account.goals.annotate(user_name=name_of_user("user_id"))
        return self.render(form=form, goals=goals.order_by("user_name", "id"))

    def save(self, request: UserRequest) -> HttpResponse:
        form, account = GoalForm(request.POST, request=request), request.account

        def act() -> None:
            account.lock()
            values = form.cleaned_data
            same = {name: values[name] for name in ("user_id", "measure", "period")}
            write_row(GoalSerializer, account.goals.filter(**same).first() or Goal(account=account), values)

        if not form.is_valid() or not self.submit_form(form, act):
            return self.show(form)
        messages.success(request, _("The goal is saved."))
        return redirect("team-goals")

    def delete(self, request: UserRequest) -> HttpResponse:
        def act() -> None:
            for goal in request.account.goals.locked().filter(id=parse_id(request.POST.get("id")) or 0):
                goal.delete()

        self.perform(act, success_message=_("The goal is deleted."))
        return redirect("team-goals")

"""The API page of the settings: the user's tokens and an overview of the examples."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import throttling
from accounts.cookies import CODE_COOKIE, delete_code_cookie, set_code_cookie
from accounts.models import APIToken, SignInCode
from accounts.pages.examples import Example, code_context, examples, fill_example, sections
from accounts.pages.forms import Code, CurrentPassword, Form, too_many_attempts, verify_current_password
from accounts.pages.interfaces import INTERFACES
from accounts.pages.user_emails import email_new_token, email_user
from accounts.pages.visit_token import read_visit_token, set_visit_token
from accounts.sign_in_codes import CodeExpired
from accounts.sign_in_log import Reason, Way, log_refusal
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.pages.base import Page, base_url, redirect
from core.pages.creation import CreatingPage, Creation
from core.requests import UserRequest

MAX_LIFETIME = timedelta(days=3650)


class TokenForm(Form):
    """The form of a new token.

    A token outlives the session, so the user confirms who they are: with the password, or with a code that was sent to their e-mail.
    """

    label = forms.CharField(
        label=gettext_lazy("Label"),
        max_length=255,
        help_text=gettext_lazy("What will use it, for example the name of a shop or a script."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        initial="90",
        choices=[
            ("90", gettext_lazy("In 90 days")),
            ("30", gettext_lazy("In 30 days")),
            ("365", gettext_lazy("In a year")),
            ("date", gettext_lazy("After a date")),
            ("never", gettext_lazy("Never")),
        ],
    )
    until = forms.DateField(
        label=gettext_lazy("Last day"),
        required=False,
        help_text=gettext_lazy("Only if it expires after a date."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    current = CurrentPassword()
    code = Code()

    def __init__(self, *args: Any, request: UserRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.secret = request.COOKIES.get(CODE_COOKIE, "")
        self.fields["current"].required = self.fields["code"].required = False
        if not request.user.has_usable_password():
            del self.fields["current"]
        if not SignInCode.objects.usable(request.account.id, self.secret).exists():
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        self.clean_expiry(values)
        if not self.errors:
            # Last, because a code works once, and each wrong password counts.
            self.confirm(values)
        return values

    def clean_expiry(self, values: dict[str, Any]) -> None:
        if values.get("expires") == "date" and "until" not in self.errors:
            today, day = timezone.localdate(), values.get("until")
            if day is None:
                self.add_error("until", _("Can't be blank"))
            elif not today <= day <= today + MAX_LIFETIME:
                self.add_error("until", _("Must be today or later, and within ten years"))

    def confirm(self, values: dict[str, Any]) -> None:
        """Check the code, or else the password. Add an error if there is neither, or if it is wrong."""
        try:
            if values.get("code"):
                self.confirm_by_code(values["code"])
            elif values.get("current"):
                if not verify_current_password(self.request, values["current"]):
                    self.add_error("current", _("Is wrong"))
            else:
                self.add_error(None, _("Confirm that it is you, with your password or with a code by e-mail."))
        except Throttled as refused:
            log_refusal(self.request, Way.CONFIRMATION, Reason.TOO_MANY, user=self.request.user)
            self.add_error(None, too_many_attempts(refused))

    def confirm_by_code(self, code: str) -> None:
        request, reason = self.request, Reason.WRONG_CODE
        throttling.count_code(request)
        try:
            email = in_transaction(lambda: SignInCode.objects.use(request.account.id, self.secret, code))
        except CodeExpired:
            email, reason = "", Reason.EXPIRED_CODE
        if email == request.user.email:
            throttling.refund_code(request)
            return
        log_refusal(request, Way.CONFIRMATION, reason, user=request.user)
        self.add_error("code", _("Is not the code from the newest e-mail"))

    @property
    def expires_at(self) -> datetime | None:
        choice = self.cleaned_data["expires"]
        if choice == "never":
            return None
        if choice == "date":
            return timezone.make_aware(datetime.combine(self.cleaned_data["until"] + timedelta(days=1), time.min))
        return timezone.now() + timedelta(days=int(choice))


def interfaces() -> list[tuple[str | Promise, list[tuple[str, list[Example]]]]]:
    """Return the names of the APIs, each with its sections of examples. The Account API comes first."""
    groups: dict[str | Promise, list[tuple[str, list[Example]]]] = {}
    for slug, section in sections().items():
        groups.setdefault(INTERFACES[section[0].language], []).append((slug, section))
    return list(groups.items())


def last_day(row: APIToken) -> date | None:
    """Return the last day on which a token is valid."""
    return timezone.localdate(row.expires_at - timedelta(seconds=1)) if row.expires_at else None


class APIPage(CreatingPage):
    request: UserRequest
    access = "team"
    template_name = "accounts/api.html"
    MAX_EXPIRED_SHOWN = 10

    def get(self, request: UserRequest) -> HttpResponse:
        return self.show()

    def post(self, request: UserRequest) -> HttpResponse:
        """Create a token. Respond with the page instead of a redirect, because the token is shown only once."""
        if request.POST.get("do") == "code":
            return self.send_code()
        form = TokenForm(request.POST, request=request)
        if not form.is_valid():
            return self.show(form)
        issued: list[str] = []

        def create() -> APIToken:
            row, token = APIToken.objects.issue(
                request.user, label=form.cleaned_data["label"], expires_at=form.expires_at
            )
            issued[:] = [token]
            email_new_token(request.user, request, row)
            return row

        creation = Creation(
            create=create,
            rows=request.account.tokens.filter(user_id=request.user.id, revoked_at=None),
            path=lambda row: reverse("accounts-tokens"),
            saved=lambda row: (
                {"label": row.label}
                | ({"expires": "date", "until": last_day(row)} if row.expires_at else {"expires": "never"})
            ),
        )
        # The password and the code are no values of the token.
        values = {name: form.cleaned_data[name] for name in ("label", "expires", "until")}
        row = self.create_once(form, creation, values)
        if isinstance(row, HttpResponse):
            return row
        if row is None:
            return self.show(form)
        if not issued:
            messages.info(
                request, _("This token exists already, and was shown once. Revoke it if you did not copy it.")
            )
            return redirect("accounts-tokens")
        response = self.show(row=row, token=issued[0])
        set_visit_token(request, response, issued[0])
        delete_code_cookie(response)
        return response

    def send_code(self) -> HttpResponse:
        """Send a code to the user, and show the form with a field for it and the values that were entered."""
        request, user = self.request, self.request.user
        entered = {name: value for name, value in request.POST.items() if name not in ("current", "code")}
        try:
            may_send = throttling.count_code_request(request, user.email, user)
        except Throttled:
            may_send = False
        if not may_send:
            log_refusal(request, Way.CONFIRMATION, Reason.TOO_MANY, user=user)
            messages.error(request, _("Your address has got too many e-mails. Try again in an hour."))
            return self.show(initial=entered)

        def act() -> str:
            code, secret = SignInCode.objects.make(
                request.account, user.email, replaces=request.COOKIES.get(CODE_COOKIE, "")
            )
            email_user(user, "confirmation_code", request, code=code)
            return secret

        secret = in_transaction(act)
        # The form below reads the cookie.
        request.COOKIES[CODE_COOKIE] = secret
        messages.success(request, _("An e-mail to %(email)s is on its way.") % {"email": user.email})
        response = self.show(initial=entered)
        set_code_cookie(response, secret)
        return response

    def show(
        self,
        form: TokenForm | None = None,
        *,
        row: APIToken | None = None,
        token: str = "",
        initial: Mapping[str, Any] | None = None,
    ) -> HttpResponse:
        request = self.request
        visit_token = read_visit_token(request)
        tokens = request.account.tokens.filter(user_id=request.user.id).order_by("-id")
        return self.render_form(
            form or TokenForm(request=request, initial=initial),
            part="api",
            tokens=[*tokens.usable()[: APIToken.MAX_PER_USER], *tokens.expired()[: self.MAX_EXPIRED_SHOWN]],
            row=row,
            token=token,
            address=base_url(request),
            filled=fill_example(
                examples()["read_account"],
                request,
                {"responsible": request.user.id},
                token=token or visit_token,
            ),
            visit_token=visit_token,
            interfaces=interfaces(),
            **code_context(request),
        )


class RevokeToken(Page):
    request: UserRequest
    access = "team"

    def post(self, request: UserRequest, id: int) -> HttpResponse:
        token = request.account.tokens.filter(user_id=request.user.id, id=id).first()
        if token is None:
            raise Http404
        revoke = partial(request.user.revoke_token, id, by=request.user)
        self.perform(revoke, success_message=_("“%(label)s” is revoked.") % {"label": token.label or token.hint})
        return redirect("accounts-tokens")

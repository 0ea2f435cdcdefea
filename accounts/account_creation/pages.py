"""The pages of the front, on which visitors create an account, and the page of the first steps in a new account.

Nothing is stored before the code from the e-mail is entered. Then the owner is signed in at the host of the account by a hand-over, whose
third step is here (`accounts.sign_in.models.Handover`).
"""

import re
import time
from dataclasses import asdict
from typing import Any, cast

from csp.decorators import csp_update
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.account_creation.creation import find_prefix_error
from accounts.account_creation.drafts import MAX_NAME_LENGTH, PREFIX_ERRORS, AccountDraft
from accounts.account_creation.guesses import guess_country, guess_currency, guess_time_zone, propose_prefix
from accounts.account_creation.models import AccountInvitation
from accounts.hosts.names import full_name, public_url
from accounts.hosts.requests import PageRequest, UserRequest
from accounts.layout.forms import Form
from accounts.mail import sending as mail
from accounts.mail.sending import Purpose, count_email
from accounts.sessions import throttling
from accounts.sessions.cookies import DRAFT_COOKIE, delete_cookie, set_cookie
from accounts.sessions.models import Session
from accounts.sessions.throttling import Way, log_sign_in
from accounts.sign_in.forms import Code, too_many_attempts
from accounts.sign_in.models import Handover
from accounts.users.forms import EmailFormField, validate_visible
from accounts.users.models import User
from accounts.users.names import check_visible, check_without_website
from core.db.transactions import in_transaction
from core.errors import FieldErrors, Throttled
from core.http.throttling import HOUR, MINUTE, count_from_address, enforce_limit, hit_address
from core.limits.rate_limits import hit
from core.pages.base import Page, redirect, redirect_to_url
from core.pages.errors import field_message
from core.pages.navigation import home_path
from core.sealing import SealError, seal, unseal

OPEN, INVITATION, CLOSED = "open", "invitation", "closed"
# The salt of the time at which a form was shown, and the seconds that people need at least to fill it in.
OPENED_SALT, MIN_FORM_SECONDS = "new account form", 3
MAX_FORM_SECONDS = 24 * 3600
# Codes for new accounts per hour, for all addresses together, and checks of a prefix per minute for one client address.
MAX_CODES_FOR_NEW_ACCOUNTS = 1000
MAX_PREFIX_CHECKS = 120
APPROVAL_PURPOSE = "first sign-in"


class FrontPage(Page):
    """A page of the service itself, at BASE_DOMAIN and at `www`. The page does not exist at forums, nor while nobody may sign up."""

    request: PageRequest
    needs_site = False
    needs_sign_up = True

    def check_access(self) -> HttpResponse | None:
        if not self.request.address.front or (self.needs_sign_up and settings.SIGN_UP == CLOSED):
            raise Http404
        return super().check_access()

    def read_draft(self) -> AccountDraft | None:
        return AccountDraft.read(self.request.COOKIES.get(DRAFT_COOKIE, ""))


class Landing(FrontPage):
    """The first page of the service."""

    template_name = "accounts/account_creation/landing.html"
    indexed = True
    needs_sign_up = False

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render(sign_up=settings.SIGN_UP, base_domain=settings.BASE_DOMAIN)


class NewAccountForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Company or project"),
        max_length=MAX_NAME_LENGTH,
        validators=[validate_visible],
        widget=forms.TextInput(attrs={"autocomplete": "organization", "autofocus": True}),
    )
    address = forms.CharField(label=gettext_lazy("Address"), max_length=63, required=False)
    owner_name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=MAX_NAME_LENGTH,
        validators=[validate_visible],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    email = EmailFormField()
    # Set by `start.js`.
    time_zone = forms.CharField(max_length=255, required=False, widget=forms.HiddenInput)
    # The prefix that was proposed for the name, to replace it if the name changes.
    proposed = forms.CharField(max_length=63, required=False, widget=forms.HiddenInput)
    opened = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial={"opened": signing.dumps(time.time(), salt=OPENED_SALT), **(initial or {})})
        help_text = _("The part before .%(domain)s. If it is empty, we derive it from the name.")
        self.fields["address"].help_text = help_text % {"domain": settings.BASE_DOMAIN}
        path = reverse("accounts-start-address")
        typing = {"hx-get": path, "hx-trigger": "input changed delay:300ms", "hx-sync": "closest form:replace"}
        self.fields["name"].widget.attrs.update(
            typing, **{"hx-target": "#address", "hx-swap": "outerHTML", "hx-include": "#address"}
        )
        attributes = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        self.fields["address"].widget.attrs.update(typing, **attributes, **{"hx-target": "#address-state"})

    def clean_address(self) -> str:
        """Return the prefix, which is part of the name of a host, or a proposed one if the field is empty."""
        typed: str = self.cleaned_data["address"].lower()
        prefix = typed.removesuffix(f".{settings.BASE_DOMAIN}") or propose_prefix(self.cleaned_data.get("name", ""))
        if not prefix:
            raise forms.ValidationError(_("Can't be blank"))
        if error := find_prefix_error(prefix):
            raise forms.ValidationError(capfirst(str(PREFIX_ERRORS[error])))
        return prefix

    def clean_opened(self) -> None:
        """Refuse a form that was filled in faster than people can type, or was shown more than a day ago."""
        try:
            opened_at = signing.loads(self.cleaned_data["opened"], salt=OPENED_SALT, max_age=MAX_FORM_SECONDS)
        except signing.BadSignature:
            self.replace_data("opened", signing.dumps(time.time(), salt=OPENED_SALT))
            opened_at = time.time()
        if time.time() - opened_at < MIN_FORM_SECONDS:
            self.add_error(None, _("Please check the form, and send it again."))

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        try:
            check_visible(email=values.get("email", ""))
            check_without_website(owner_name=values.get("owner_name", ""))
        except FieldErrors as caught:
            for error in caught.errors:
                self.add_error(error.field, field_message(error))
        return values


class NewAccountPage(FrontPage):
    """The form for a new account. It sends a code to the e-mail address."""

    template_name = "accounts/account_creation/start.html"
    # The secret of an invitation, or "".
    secret = ""
    invitation: AccountInvitation | None = None

    def check_access(self) -> HttpResponse | None:
        response, draft = super().check_access(), self.read_draft()
        self.secret = self.request.GET.get("secret") or (draft.invitation if draft else "")
        self.invitation = AccountInvitation.objects.with_secret(self.secret).first()
        if response is None and self.invitation is None and (self.secret or settings.SIGN_UP == INVITATION):
            messages.error(self.request, _("This invitation was used or has expired. Ask for another one."))
            response = redirect(home_path())
            delete_cookie(response, DRAFT_COOKIE)
        return response

    def make_form(self, data: QueryDict | None = None) -> NewAccountForm:
        draft = self.read_draft()
        initial = {**asdict(draft), "address": draft.prefix} if draft else {}
        if self.invitation is not None:
            initial["email"] = self.invitation.email
        form = NewAccountForm(data, initial=initial)
        form.fields["email"].disabled = self.invitation is not None
        return form

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(self.make_form())

    def post(self, request: PageRequest) -> HttpResponse:
        form = self.make_form(request.POST)
        if not form.is_valid():
            return self.render_form(form)
        try:
            count_from_address(request, "account-code")
            enforce_limit(request, hit("account-codes", MAX_CODES_FOR_NEW_ACCOUNTS, HOUR))
        except Throttled as refused:
            form.add_error(None, too_many_attempts(refused))
            return self.render_form(form)
        if not count_email(request, Purpose.NEW_ACCOUNT, form.cleaned_data["email"]):
            form.add_error("email", _("This address has got too many e-mails. Try again in an hour."))
            return self.render_form(form)
        draft = self.make_draft(form.cleaned_data)
        mail.send(
            draft.email,
            "accounts/mail/new_account_code.txt",
            account_id=None,
            language=draft.language,
            sender=mail.SERVICE_NAME,
            code=draft.code,
            # People do not see the field `homepage`, but bots fill it in.
            deliver=not request.POST.get("homepage"),
        )
        response = redirect("accounts-start-code")
        set_cookie(response, DRAFT_COOKIE, draft.seal(), AccountDraft.LIFETIME)
        return response

    def make_draft(self, values: dict[str, str]) -> AccountDraft:
        accepted = self.request.headers.get("Accept-Language", "")
        zone = guess_time_zone(values["time_zone"], accepted)
        country = guess_country(zone, accepted)
        return AccountDraft(
            name=values["name"],
            prefix=values["address"],
            email=values["email"],
            owner_name=values["owner_name"],
            language=get_language() or settings.LANGUAGE_CODE,
            time_zone=zone,
            currency=guess_currency(country),
            country=country,
            invitation=self.secret,
        )


class AddressPart(FrontPage):
    """The field for the address, with a prefix proposed for the name, or what is wrong with a typed prefix. htmx asks while the user types."""

    def get(self, request: PageRequest) -> HttpResponse:
        if settings.RATE_LIMIT:
            enforce_limit(request, hit_address(request, "prefix-check", MAX_PREFIX_CHECKS, MINUTE))
        values = request.GET
        prefix = values.get("address", "")[:100].strip().lower()
        is_proposed = "name" in values and prefix in ("", values.get("proposed", ""))
        if is_proposed:
            prefix = propose_prefix(values["name"][:MAX_NAME_LENGTH])
        error = find_prefix_error(prefix) if prefix else ""
        template = "address_field.html" if "name" in values else "address_state.html"
        proposed = prefix if is_proposed else values.get("proposed", "")[:63]
        return self.render(
            f"accounts/account_creation/{template}",
            form=NewAccountForm(initial={"address": prefix, "proposed": proposed}),
            state=capfirst(str(PREFIX_ERRORS[error])) if error else "",
            free_host=full_name(prefix) if prefix and not error else "",
        )


class AccountCodeForm(Form):
    code = Code()
    code.widget.attrs["autofocus"] = True


class AccountCodePage(FrontPage):
    """The page for the code. The right code creates the account."""

    template_name = "accounts/account_creation/code.html"
    draft: AccountDraft

    def check_access(self) -> HttpResponse | None:
        response, draft = super().check_access(), self.read_draft()
        if draft is None:
            return response or self.redirect_to_start()
        self.draft = draft
        return response

    def redirect_to_start(self) -> HttpResponse:
        messages.error(self.request, _("This code no longer works. We can send you another one."))
        return redirect("accounts-start")

    def get(self, request: PageRequest) -> HttpResponse:
        return self.show(AccountCodeForm())

    def show(self, form: Form) -> HttpResponse:
        draft = self.draft
        response = self.render_form(form, email=draft.email, host=full_name(draft.prefix))
        # Chromium applies this directive to the redirects after a form, too, and these lead to the new account.
        update = csp_update({"form-action": [public_url(draft.prefix)]})
        return cast(HttpResponse, update(lambda request: response)(self.request))

    def post(self, request: PageRequest) -> HttpResponse:
        form, draft = AccountCodeForm(request.POST), self.draft
        if not form.is_valid():
            return self.show(form)
        try:
            throttling.count_code(request)
            if not draft.count_attempt():
                return self.redirect_to_start()
            if not draft.has_code(form.cleaned_data["code"]):
                form.add_error("code", _("Is not the code from the newest e-mail"))
                return self.show(form)
            throttling.refund_code(request)
            owner = draft.find_owner()
            if owner is None:
                is_held = draft.count_creation(request)
                owner = in_transaction(lambda: draft.create(is_held=is_held))
        except Throttled as refused:
            form.add_error(None, str(refused.message) if refused.message else too_many_attempts(refused))
            return self.show(form)
        except FieldErrors as caught:
            for sentence in self.error_sentences(caught):
                messages.error(request, sentence)
            return redirect("accounts-start")
        if owner.account.is_closed:
            return self.render("accounts/account_creation/review.html")
        return self.begin_handover(owner)

    def begin_handover(self, owner: User) -> HttpResponse:
        """Start a session of the owner, and hand it over to the host of the account. Its secret is unknown, so it works nowhere else."""
        request, host = self.request, owner.account.prefix
        session, _secret = Session.objects.start(owner, agent=request.headers.get("User-Agent", ""))
        log_sign_in(request, owner, Way.NEW_ACCOUNT)
        ticket = Handover.objects.begin(session, host=host)
        query = {"from": request.address.front, "token": ticket, "next": reverse("accounts-welcome")}
        response = redirect_to_url(public_url(host) + reverse("accounts-handover-begin", query=query))
        set_cookie(response, DRAFT_COOKIE, seal([session.account_id, session.id], APPROVAL_PURPOSE), Handover.LIFETIME)
        return response


class ApproveFirstSignIn(FrontPage):
    """The third step of the hand-over to a new account. The cookie shows that this browser has created the account."""

    http_method_names = ["get"]

    def get(self, request: PageRequest) -> HttpResponse:
        nonce, token = request.GET.get("nonce", ""), request.GET.get("token", "")[:100]
        try:
            account_id, session_id = unseal(request.COOKIES.get(DRAFT_COOKIE, "")[:1000], APPROVAL_PURPOSE)
        except SealError:
            return redirect(home_path())
        session = (
            Session.objects.active().filter(account_id=account_id, id=session_id).select_related("account").first()
        )
        if session is None or not re.fullmatch("[0-9a-f]{64}", nonce):
            return redirect(home_path())
        host = session.account.prefix
        code = Handover.objects.approve(session, token, host=host, nonce=bytes.fromhex(nonce))
        path = reverse("accounts-welcome")
        if code is not None:
            path = reverse("accounts-handover-finish", query={"token": code, "next": path})
        response = redirect_to_url(public_url(host) + path)
        delete_cookie(response, DRAFT_COOKIE)
        return response


class WelcomePage(Page):
    """The first steps in a new account."""

    request: UserRequest
    access = "admin"
    template_name = "accounts/account_creation/welcome.html"

    def get(self, request: UserRequest) -> HttpResponse:
        return self.render(forum_url=request.address.url)

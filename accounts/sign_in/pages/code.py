"""Signing in and joining with a code from an e-mail: a page that asks for the e-mail address, and a page for the code.

The pages never show whether an e-mail address belongs to a user. Each address gets the same response after the same work. Other
apps can derive pages from the base classes here, to act for the user after a correct code.
"""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from accounts.hosts.requests import PageRequest
from accounts.layout.forms import Form
from accounts.mail import sending as mail
from accounts.sessions import throttling
from accounts.sessions.cookies import CODE_COOKIE, delete_cookie, set_cookie
from accounts.sessions.sign_in_log import RefusalReason, Way, log_refusal
from accounts.sign_in.codes import CodeExpired, SignInCode
from accounts.sign_in.forms import Code, too_many_attempts
from accounts.sign_in.pages.sign_in import VisitorPage, sign_in
from accounts.users.forms import EmailFormField
from accounts.users.models import User
from core.db.transactions import in_transaction
from core.errors import Throttled
from core.pages.base import Page, redirect, safe_path


class CodeRequestForm(Form):
    email = EmailFormField()
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
    email.widget.attrs["autofocus"] = True


class CodeForm(Form):
    code = Code()
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=255,
        required=False,
        help_text=gettext_lazy("If you are new here: shown next to what you write. You can change it later."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
    code.widget.attrs["autofocus"] = True

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


class CodeRequestPage(Page):
    """The base of pages that ask for an e-mail address, and send a code to it."""

    request: PageRequest

    def code_path(self) -> str:
        """Return the path of the page for the code."""
        raise NotImplementedError

    def send_code(self, form: Form) -> HttpResponse | None:
        """Send a code to the e-mail address of a valid form, and return a redirect to the page for the code.

        Return None and add an error to the form after too many requests or e-mails.
        """
        request, email = self.request, form.cleaned_data["email"]
        account = request.account
        recipient = User.objects.find_for_code(request.site, email)
        try:
            if not throttling.count_code_request(request, email, recipient.user):
                form.add_error("email", _("This address has got too many e-mails. Try again in an hour."))
        except Throttled as refused:
            form.add_error(None, too_many_attempts(refused))
        if form.errors:
            log_refusal(request, Way.CODE, RefusalReason.TOO_MANY, user=recipient.user, name=email)
            return None
        # People do not see the field `homepage`, but bots fill it in.
        deliver = recipient.may_sign_in and not request.POST.get("homepage")

        def send() -> str:
            code, secret = SignInCode.objects.make(
                account, recipient.email, replaces=request.COOKIES.get(CODE_COOKIE, "")
            )
            mail.send(
                recipient.email,
                "accounts/mail/sign_in_code.txt",
                account_id=account.id,
                language=get_language(),
                sender=request.site.name,
                code=code,
                deliver=deliver,
            )
            return secret

        secret = in_transaction(send)
        response = redirect(self.code_path())
        set_cookie(response, CODE_COOKIE, secret, SignInCode.LIFETIME)
        return response


class CodePage(Page):
    """The base of pages on which the code is entered."""

    request: PageRequest
    template_name = "accounts/sign_in/sign_in_code.html"
    # The address of the right code, or "" after a wrong one.
    used_email = ""

    @property
    def secret(self) -> str:
        return self.request.COOKIES.get(CODE_COOKIE, "")

    def retry_path(self) -> str:
        """Return the path of the page that sends another code."""
        raise NotImplementedError

    def finish(self, form: Form, user: User) -> HttpResponse:
        """Return the response to the right code. The caller signs the user in."""
        raise NotImplementedError

    def get(self, request: PageRequest, **kwargs: object) -> HttpResponse:
        if not SignInCode.objects.usable(request.account.id, self.secret).exists():
            return self.redirect_to_retry()
        return self.show(CodeForm(initial={"next": safe_path(request, request.GET.get("next"))}))

    def show(self, form: Form) -> HttpResponse:
        return self.render_form(form, retry_path=self.retry_path())

    def post(self, request: PageRequest, **kwargs: object) -> HttpResponse:
        form, found = CodeForm(request.POST), list[User | None]()
        if not form.is_valid():
            return self.show(form)
        try:
            throttling.count_code(request)
            is_done = self.submit_form(form, lambda: found.append(self.use_code(form)))
        except Throttled as refused:
            log_refusal(request, Way.CODE, RefusalReason.TOO_MANY)
            form.add_error(None, too_many_attempts(refused))
            return self.show(form)
        except CodeExpired:
            log_refusal(request, Way.CODE, RefusalReason.EXPIRED_CODE)
            return self.redirect_to_retry()
        if not is_done:
            # The form has an error, because the e-mail looks like that of another user.
            return self.show(form)
        if (user := found[-1]) is None:
            return self.refuse(form)
        throttling.refund_code(request)
        request.user = user
        response = sign_in(request, self.finish(form, user), user, way=Way.CODE)
        delete_cookie(response, CODE_COOKIE)
        return response

    def use_code(self, form: Form) -> User | None:
        """Return the user with the e-mail of the code, or None if the code is wrong or the e-mail may not sign in."""
        request, account = self.request, self.request.account
        email = SignInCode.objects.use(account.id, self.secret, form.cleaned_data["code"])
        self.used_email = email
        if not email:
            return None
        name = form.cleaned_data["name"]
        return User.objects.find_or_join(request.site, email=email, name=name, language=get_language())

    def refuse(self, form: Form) -> HttpResponse:
        """Return the page after a wrong code. After the last attempt, redirect to the page that sends another code."""
        reason = RefusalReason.NOT_ADMITTED if self.used_email else RefusalReason.WRONG_CODE
        log_refusal(self.request, Way.CODE, reason, name=self.used_email)
        if not SignInCode.objects.usable(self.request.account.id, self.secret).exists():
            return self.redirect_to_retry()
        form.add_error("code", _("Is not the code from the newest e-mail"))
        return self.show(form)

    def redirect_to_retry(self) -> HttpResponse:
        messages.error(self.request, _("This code no longer works. We can send you another one."))
        return redirect(self.retry_path())


class SignInWithCode(CodeRequestPage, VisitorPage):
    """The page that sends a code to sign in with. After signing in, the user returns to the page `next`."""

    template_name = "accounts/sign_in/sign_in_with_code.html"

    def get(self, request: PageRequest) -> HttpResponse:
        return self.render_form(CodeRequestForm(initial={"next": safe_path(request, request.GET.get("next"))}))

    def post(self, request: PageRequest) -> HttpResponse:
        self.form = CodeRequestForm(request.POST)
        response = self.send_code(self.form) if self.form.is_valid() else None
        return response or self.render_form(self.form)

    def code_path(self) -> str:
        target = safe_path(self.request, self.form.cleaned_data["next"])
        return reverse("accounts-sign-in-code-enter", query={"next": target})


class EnterCode(CodePage, VisitorPage):
    """The page for the code. The right code signs the user in."""

    def retry_path(self) -> str:
        target = safe_path(self.request, self.request.POST.get("next") or self.request.GET.get("next"))
        return reverse("accounts-sign-in-code", query={"next": target})

    def finish(self, form: Form, user: User) -> HttpResponse:
        messages.success(self.request, _("You are signed in."))
        return redirect(safe_path(self.request, form.cleaned_data["next"]))

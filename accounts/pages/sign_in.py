"""Signing in and out, and the language of the pages."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.middleware.csrf import rotate_token
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from accounts import passwords, throttling
from accounts.cookies import delete_session, set_language, set_session
from accounts.models import Session, User
from accounts.pages.forms import Form, too_many_attempts
from core.db.text import is_xml_text
from core.errors import Throttled
from core.pages.base import Page, redirect, safe_path


def sign_in(request, response: HttpResponse, user: User) -> HttpResponse:
    """Begin a session of the user with this answer, in the place of the one that the browser had."""
    if request.session is not None:
        request.session.delete()
    _row, secret = Session.objects.open(user, agent=request.headers.get("User-Agent", ""))
    set_session(response, secret)
    # It was in pages that anybody may have read.
    rotate_token(request)
    return response


class SignInForm(Form):
    login = forms.CharField(
        label=gettext_lazy("Login or e-mail"),
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    next = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args, request, **kwargs):
        super().__init__(*args, **kwargs)
        self.request = request

    def clean(self):
        values = super().clean()
        if self.errors:
            return values
        account_id, name = self.request.address.account_id, values["login"]
        self.user = User.objects.known_as(account_id, name) if is_xml_text(name) else None
        try:
            attempt = throttling.LoginAttempt(self.request, account_id, name)
            if not passwords.is_right(self.user, values["password"], attempt=attempt):
                self.add_error(None, _("The login or the password is wrong."))
        except Throttled as refused:
            self.add_error(None, too_many_attempts(refused))
        return values


class SignIn(Page):
    template_name = "accounts/sign_in.html"

    def get(self, request):
        target = safe_path(request, request.GET.get("next"))
        if request.user is not None:
            return redirect(target)
        return self.render_form(SignInForm(request=request, initial={"next": target}), unsaved="unsaved" in request.GET)

    def post(self, request):
        form = SignInForm(request.POST, request=request)
        if not form.is_valid():
            return self.render_form(form)
        return sign_in(request, redirect(safe_path(request, form.cleaned_data["next"])), form.user)


class SignOut(Page):
    def post(self, request):
        if request.session is not None:
            request.session.delete()
        response = redirect(settings.HOME_URL)
        delete_session(response)
        messages.success(request, _("You are signed out."))
        return response


class Language(Page):
    """What a visitor chose is kept in a cookie, what a user chose in the profile."""

    def post(self, request):
        response = redirect(safe_path(request, request.POST.get("next")))
        language = request.POST.get("language")
        if language in dict(settings.LANGUAGES):
            set_language(response, language)
            if request.user is not None:
                User.objects.filter(pk=request.user.pk).update(language=language)
            with override(language):
                messages.success(request, _("The pages are in English now."))
        return response

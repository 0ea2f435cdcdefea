from django.urls import path

from accounts.second_factor.pages import (
    EnterSecondFactor,
    PasskeyOptions,
    ResetSecondFactor,
    SecondFactorsPage,
    SignInRulesPage,
    SignInWithPasskey,
)

urlpatterns = [
    path("app/sign-in/second", EnterSecondFactor.as_view(), name="accounts-second-factor"),
    path("app/sign-in/passkey", SignInWithPasskey.as_view(), name="accounts-passkey"),
    path("app/sign-in/passkey/options", PasskeyOptions.as_view(), name="accounts-passkey-options"),
    path("app/profile/factors", SecondFactorsPage.as_view(), name="accounts-second-factors"),
    path("app/account/users/<id:id>/factors", ResetSecondFactor.as_view(), name="accounts-reset-second-factor"),
    path("app/account/sign-in", SignInRulesPage.as_view(), name="accounts-sign-in-rules"),
]

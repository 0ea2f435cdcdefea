from django.urls import path

from accounts.pages import examples, sign_in, tokens

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view()),
    path("app/sign-out", sign_in.SignOut.as_view()),
    path("app/language", sign_in.Language.as_view()),
    path("app/account/api", tokens.API.as_view()),
    path("app/account/api/tokens/<id:id>/revoke", tokens.RevokeToken.as_view()),
    path("app/account/api/<slug:section>", examples.Examples.as_view()),
]

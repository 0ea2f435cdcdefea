from django.urls import path

from accounts.shop_sign_in.pages import ShopSignInPage, SignInFromShop

urlpatterns = [
    path("app/sign-in/token", SignInFromShop.as_view(), name="accounts-shop-token"),
    path("app/account/shop-sign-in", ShopSignInPage.as_view(), name="accounts-shop-sign-in"),
]

from django.urls import path

from accounts.brand.api import BrandViewSet
from accounts.brand.pages import BrandPage, ManifestPage, PicturePage, StylePage

urlpatterns = [
    path(
        "app/account/brand.json",
        BrandViewSet.as_view({"get": "retrieve", "put": "update", "patch": "update"}),
        name="accounts-json-brand",
    ),
    path("app/account/brand", BrandPage.as_view(), name="accounts-brand"),
    path("app/logo/<slug:key>.png", PicturePage.as_view(name="logo"), name="accounts-logo"),
    path("app/brand/icon/<slug:key>.png", PicturePage.as_view(name="icon"), name="accounts-icon"),
    path("app/brand/share/<slug:key>.jpg", PicturePage.as_view(name="share_image"), name="accounts-share-image"),
    path("app/brand/<slug:key>.css", StylePage.as_view(), name="accounts-brand-style"),
    path("app/manifest.webmanifest", ManifestPage.as_view(), name="accounts-manifest"),
]

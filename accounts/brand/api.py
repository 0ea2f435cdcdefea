"""The brand of the account in the Account API (JSON)."""

from typing import Any

from django.http import HttpResponse
from rest_framework.response import Response

from accounts.account.api import url_of_account
from accounts.brand.models import (
    MAX_ADDRESS_LENGTH,
    MAX_LABEL_LENGTH,
    MAX_LINKS,
    PICTURE_ROUTES,
    Branding,
)
from accounts.brand.pictures import MAX_PICTURE_BYTES
from accounts.hosts.api import APIRequest, TypedViewSet
from accounts.roles.permissions import IsAdminOrTeamReadOnly
from core.api.fields import BooleanField, ListField, TextField, to_list
from core.api.files import FileField
from core.api.serializers import ResourceSerializer
from core.api.views import JSONViewSet
from core.db.transactions import transactional
from core.files.models import MEBIBYTE
from core.http.formats import UploadParser
from core.openapi.fields import NOT_BLANK, describe_field
from core.openapi.operations import BODIES, RESPONSES
from core.openapi.values import BOOLEAN, NAME, array_of, object_of, or_null


class LinksField(ListField):
    """The links in the header of pages (`check_links`)."""

    def to_internal_value(self, data: object) -> object:
        return to_list(data)


class BrandSerializer(ResourceSerializer):
    accent = TextField()
    logo = FileField()
    icon = FileField()
    share_image = FileField()
    header_links = LinksField()
    shows_powered_by = BooleanField()


class BrandViewSet(TypedViewSet, JSONViewSet):
    areas = ("settings",)
    areas_to_read = ()
    permission_classes = [IsAdminOrTeamReadOnly]
    body_keys: tuple[str, ...] = ("brand",)
    parser_classes = [UploadParser]
    # Of a form with three pictures.
    max_body_bytes = 4 * MEBIBYTE

    def retrieve(self, request: APIRequest) -> HttpResponse:
        return Response(self.represent(Branding.objects.get_or_default(self.account)))

    @transactional
    def update(self, request: APIRequest) -> HttpResponse:
        serializer = BrandSerializer(data=self.body.get("brand"), partial=True, context=self.get_serializer_context())
        self.check(brand=serializer)
        # Null changes nothing, except for a picture, which null or an empty file removes.
        values = {
            name: value for name, value in serializer.values.items() if value is not None or name in PICTURE_ROUTES
        }
        for name in PICTURE_ROUTES.keys() & values.keys():
            if values[name] is not None:
                values[name].seek(0)
                values[name] = values[name].read(MAX_PICTURE_BYTES + 1) or None
        return Response(self.represent(Branding.change(self.account, **values)))

    def represent(self, row: Branding) -> dict[str, Any]:
        base = url_of_account(self.request._request, self.account)
        urls = {f"{name}_url": base + path if (path := row.url_of(name)) else None for name in PICTURE_ROUTES}
        shades = {"light_accent": row.light.accent, "dark_accent": row.dark.accent}
        # PostgreSQL does not keep the order of the keys.
        links = [{"label": link["label"], "url": link["url"]} for link in row.header_links]
        others = {"header_links": links, "shows_powered_by": row.shows_powered_by}
        return {"accent": row.accent, **shades, **urls, **others}


# The schemas of the OpenAPI document, as far as views and serializers do not tell them

URL_PATTERN = r"^https?://([a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?\.){1,4}[a-z]{2,10}(/[A-Za-z0-9/._~-]*)?$"
LINK_IN_RESPONSE = object_of(label=NAME, url=NAME)
LINK = object_of(
    label={"type": "string", "maxLength": MAX_LABEL_LENGTH, **NOT_BLANK},
    url={"type": "string", "maxLength": MAX_ADDRESS_LENGTH, "pattern": URL_PATTERN},
)
describe_field(LinksField, request=array_of(LINK, maxItems=MAX_LINKS), response=array_of(LINK_IN_RESPONSE))
RESPONSES["read_brand"] = RESPONSES["update_brand"] = object_of(
    accent=NAME,
    light_accent=NAME,
    dark_accent=NAME,
    **{f"{name}_url": or_null(NAME) for name in PICTURE_ROUTES},
    header_links=array_of(LINK_IN_RESPONSE),
    shows_powered_by=BOOLEAN,
)
BODIES["update_brand"] = {"brand": BrandSerializer}

"""The serializer field of a file."""

import base64
import binascii
from io import BytesIO
from typing import IO, cast

from django.core.files.uploadedfile import UploadedFile

from core.api.fields import WireField


class FileField(WireField):
    """A file of a form, or the content in Base64."""

    default_error_messages = {"base64": "is neither a file of a form nor Base64"}

    def to_internal_value(self, data: object) -> IO[bytes]:
        if isinstance(data, UploadedFile):
            return cast("IO[bytes]", data)
        try:
            content = base64.b64decode(str(data), validate=True) if isinstance(data, str) else None
        except (binascii.Error, ValueError):
            content = None
        if content is None:
            self.fail("base64")
        return BytesIO(content)

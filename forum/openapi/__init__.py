"""The operations of the forum in the OpenAPI document."""

from forum.openapi import json, xml

__all__ = ["json", "xml"]

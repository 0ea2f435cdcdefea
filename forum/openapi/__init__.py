"""The operations of the forum in the OpenAPI document."""

from forum.openapi import json, notifications, xml

__all__ = ["json", "notifications", "xml"]

"""The schemas of contacts in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import SHAPES, Shape
from crm.contacts.api.contacts import ContactSerializer
from crm.resources.openapi import NAMES, describe_operations

SHAPES[ContactSerializer] = Shape(rules={"required": None, "anyOf": NAMES})
describe_operations("contact")

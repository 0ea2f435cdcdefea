"""The settings of an account in the Account API."""

from accounts.account import MAX_REASONS, AgentsSee
from core.api.fields import BooleanField, ChoiceField, TextListField
from core.api.serializers import ResourceSerializer


class AccountSettingsSerializer(ResourceSerializer):
    """The fields of an account that admins may change."""

    agents_see = ChoiceField(AgentsSee.values)
    link_guests_by_email = BooleanField()
    won_reasons = TextListField(max_items=MAX_REASONS)
    lost_reasons = TextListField(max_items=MAX_REASONS)

"""The schemas of summaries in the OpenAPI document, as far as views and serializers do not tell them."""

from core.openapi.operations import RESPONSES
from core.openapi.values import COUNT, NAME, NUMBER, TIME, array_of, object_of, or_null

REVENUE = array_of(object_of(currency=NAME, open_deals=COUNT, open_sum=NUMBER, won_deals=COUNT, won_sum=NUMBER))
SUMMARY = {"last_activity_at": TIME, "next_task_at": or_null(TIME)}
RESPONSES["read_client_summary"] = object_of(SUMMARY, revenue=REVENUE)
RESPONSES["read_contact_summary"] = RESPONSES["read_deal_summary"] = object_of(SUMMARY)

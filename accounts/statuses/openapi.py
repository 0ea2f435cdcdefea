"""The schemas of statuses and pipelines in the OpenAPI document, as far as views and serializers do not tell them."""

from accounts.statuses.api.pipelines import PipelineSerializer
from accounts.statuses.api.statuses import StatusSerializer
from core.openapi.operations import QUERY_PARAMETERS, SHAPES, Shape
from core.openapi.values import ID_PARAMETER

SHAPES[PipelineSerializer] = SHAPES[StatusSerializer] = Shape(computed=frozenset({"position"}))

MOVE_TO = "The pipeline to which the statuses with deals move. The other statuses are deleted."
QUERY_PARAMETERS["delete_pipeline"] = {"move_to_id": {**ID_PARAMETER, "description": MOVE_TO}}

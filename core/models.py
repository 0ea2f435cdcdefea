"""The models of the engine, each in a module of its own, named here for Django."""

from core.api.idempotency import IdempotentAnswer as IdempotentAnswer
from core.changes.models import Change as Change
from core.db.rate_limits import RateCount as RateCount
from core.search.spelling import StaleWord as StaleWord
from core.search.spelling import Word as Word

"""The models of the engine. Each is defined in a separate module and imported here, where Django looks for models."""

from core.changes.followers import Follower as Follower
from core.changes.models import Change as Change
from core.files.models import StoredFile as StoredFile
from core.http.idempotency import IdempotentAnswer as IdempotentAnswer
from core.jobs.queue import Heartbeat as Heartbeat
from core.jobs.queue import Job as Job
from core.jobs.queue import PeriodicTime as PeriodicTime
from core.limits.rate_limits import RateCount as RateCount
from core.search.spelling import StaleWord as StaleWord
from core.search.spelling import Word as Word

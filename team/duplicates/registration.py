from core.changes.followers import register_follower
from team.duplicates.jobs import DuplicateFollower

register_follower(DuplicateFollower())

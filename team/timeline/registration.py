"""The registration of the timeline (`core.rooms`)."""

from team.timeline.derivations import register_derivations

register_derivations()

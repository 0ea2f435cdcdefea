from team.timeline.derivations import register_derivations

register_derivations()

"""The models of the team's pages."""

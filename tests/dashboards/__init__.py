"""Dashboards, ours and those that others made for Apache BookKeeper, and our alerts: what they ask for is exported."""

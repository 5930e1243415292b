"""Authorization: rules, look-ups, the audit log."""

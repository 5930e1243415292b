"""Users and passwords."""

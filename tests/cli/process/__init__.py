"""The process that twistd runs."""

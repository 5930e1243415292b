"""Bytes captured from Apache BookKeeper 4.18.0, kept compressed; :mod:`.wire` reads the conversations."""

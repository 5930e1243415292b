"""Tests of the data source and the pipelines.

What needs no Spark is tested without it. The rest shares one Spark session; it is skipped where PySpark or Java is
missing.
"""

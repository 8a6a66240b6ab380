"""Stores that are no file system of the machines: S3 and HDFS.

Only `storage.remote`, which makes paths of their files, and Spark's settings import from here. Begin with `store`.
"""

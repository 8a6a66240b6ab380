"""Files on S3 and HDFS: the calls of a store one by one, then whole runs on it."""

"""Topics of Apache Kafka, by the client librdkafka (the extra `kafka`): decision 37.

Others import `source.KafkaSource`, and `cluster` for what a URI says and how to connect; the sink lies with the other
sinks. Begin with `source`, then follow a message: `receiver`, `messages`, `partitions`.
"""

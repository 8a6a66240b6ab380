"""How Spark starts: Java found, started early, with its classes in an archive; Python processes as forks of one.

Others may import `gateway`, `java` and `archive`; the rest are programs that Spark starts (decision 31). Begin
with `gateway`.
"""

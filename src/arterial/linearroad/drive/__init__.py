"""The data driver: delivers every tuple at its time, to any system (VLDB 2004, §3.3). Begin with `driver`."""

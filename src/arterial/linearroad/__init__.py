"""Linear Road: the tolling application of a whole city, and the benchmark kit around it."""

"""Linear Road as an application of the engine: its network, its feed, its answers, its run."""

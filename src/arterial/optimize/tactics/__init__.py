"""The tactics of the optimizer, one file each: a pure function from network to network. Begin with `merge_filters`."""

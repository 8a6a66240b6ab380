"""The kernels of Linear Road: small pure functions over columns."""

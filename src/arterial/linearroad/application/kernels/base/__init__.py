"""What all kernels of Linear Road are made of: compiled functions, tables by key, chunks, columns of reports.

Begin with `reports`.
"""

"""What a data set is like: traffic, speeds, tolls, accidents, requests, beside the paper's figures.

Others import `description.describe`. Begin with `description`.
"""

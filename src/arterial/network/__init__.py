"""The model: schemas, expressions, boxes, arcs, networks. Immutable values that know no Spark.

Everything else imports from here. Begin with `box` (what a box is and which traits it has), then `network` (boxes and
arcs as one value, checked when it is made).
"""

"""The model: schemas, expressions, boxes, arcs, networks. It knows no Spark."""

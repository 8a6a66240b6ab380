"""What several meanings are made of: windows, aggregates, values, signs, causes. Begin with `stream`."""

"""The traffic model: one direction of one expressway, vehicle by vehicle, second by second. Begin with `traffic`."""

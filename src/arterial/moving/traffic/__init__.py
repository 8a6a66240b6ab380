"""Made-up traffic: objects that travel on the roads of a made-up city (after Brinkhoff's network-based generator).

Others import `Traffic` and `TrafficSettings` from here, and `sumo` for the traffic of SUMO. Begin with `travel`.
"""

from arterial.moving.traffic.city import City, Roads, make_city
from arterial.moving.traffic.travel import CLASSES, Positions, Traffic, TrafficSettings, VehicleClass

__all__ = ["CLASSES", "City", "Positions", "Roads", "Traffic", "TrafficSettings", "VehicleClass", "make_city"]

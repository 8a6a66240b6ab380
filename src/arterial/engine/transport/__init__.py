"""How trains travel between slots.

A *parcel* is a train from one slot to another through a channel (`parcels`: send and receive). A *shipment* is all
parcels from one slot to another in a step, as bytes (`shipments`, made of `tuples` and `framing`). A shipment crosses
Spark as rows, and so do the *reports* of tasks to the driver (`rows`). Others import all of these. Begin with
`parcels`.
"""

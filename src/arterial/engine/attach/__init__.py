"""Ad-hoc queries on a running network (Aurora §2.2): a connection point's history first, then live, in this process.

`attachment.Attachment` is a query at work, an iterable of answers; `token` says where it is, `places` what can be
asked. Users import `arterial.attach`, which knows SQL too. Begin with `attachment`.
"""

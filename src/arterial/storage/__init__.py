"""The files of a run that must survive a crash: put in place whole, appended to, mapped, or in shared memory.

Others write, rename and remove such files only with the functions of `place` and `appended`, which use the `disk`.
`remote` makes paths of files on S3 and HDFS (`stores`). `epoch` says which run a checkpoint belongs to, `fail_point`
names moments at which tests kill a run. Begin with `place`.
"""

"""Runs on several hosts: network namespaces with addresses of their own, separate local disks, one shared folder."""

"""Tactics: functions from network to network."""

"""Files that are there whole or not at all: mapped, appended to, or in shared memory."""

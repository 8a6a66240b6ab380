"""What several commands share: progress, outcome and exit codes, networks by their place, the options of a cluster."""

"""Input that nobody meant: a mistake of the input is an `ArterialError`, whatever it is, and no line is lost unsaid."""

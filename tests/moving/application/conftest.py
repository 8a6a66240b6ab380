"""What these tests share: a Java that starts soon. They run for seconds, so the slow compiler never pays."""

from __future__ import annotations

import os

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")

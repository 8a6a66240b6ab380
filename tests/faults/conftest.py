"""The fixture of all tests with the simulated host."""

from tests.faults.host import workers as workers

"""The lowest rate at which a client sends or receives a long body, because it occupies a thread meanwhile."""

from dataclasses import dataclass

# In bytes per second, and the seconds after which the rate is checked.
MIN_RATE, RATE_GRACE = 8 * 1024, 30


@dataclass
class Pace:
    """The bytes that a client has sent or received, and the seconds that it has taken."""

    bytes: int = 0
    seconds: float = 0.0

    def add(self, bytes: int, seconds: float) -> None:
        self.bytes += bytes
        self.seconds += seconds

    @property
    def is_too_slow(self) -> bool:
        return self.seconds > RATE_GRACE and self.bytes < self.seconds * MIN_RATE

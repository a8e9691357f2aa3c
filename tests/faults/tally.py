"""What a fault test counts."""

from dataclasses import dataclass


@dataclass
class Tally:
    """What one test did: `reads` are those of a reader beside it, `wrong_reads` failed or were not one release."""

    injected: int = 0
    recovered: int = 0
    rows_lost: int = 0
    reads: int = 0
    wrong_reads: int = 0

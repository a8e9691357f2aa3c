"""What a check of the doctor's says. Here belongs nothing that looks at anything."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's: what was looked at, and what was found, with what to do about it."""

    level: Level
    what: str
    said: str

    def __str__(self) -> str:
        return f"{self.level:<8} {self.what}: {self.said}"

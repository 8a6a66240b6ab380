"""The token of an ad-hoc query: where its answer is, so that another process can go on exactly there.

As text it says through which time the answer was given; of a query with state, the answer up to there is computed again
and not shown. In a file it has the state too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from arterial.engine.host.inprocess import ChunkName
from arterial.engine.run.checkpoint.manifest import describe_boxes
from arterial.engine.state.chunks import pack_chunk, unpack_chunk
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.state import Chunk
from arterial.network.train import BEGIN
from arterial.storage.place import PRIVATE, put_in_place

_FORMAT = 1


@dataclass(frozen=True)
class Token:
    """Where an ad-hoc query is."""

    points: Mapping[str, str]
    """The ids of the tables that it reads, by source."""
    query: str
    """The digest of its network."""
    through: int
    """All of its answer up to this time was given."""
    since: int | None = None
    lost: int = BEGIN
    """What the retention had removed when the query began; what was removed since it has read."""
    written: int = 0
    """How many bytes of an output file belong to that answer."""

    def __str__(self) -> str:
        """As text without spaces, to print and to paste."""
        packed = json.dumps([_FORMAT, *asdict(self).values()], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @classmethod
    def of(cls, text: str) -> Token:
        """Back from text."""
        try:
            form, *values = json.loads(base64.urlsafe_b64decode(text.strip() + "=="))
            if form != _FORMAT:
                raise ValueError(f"its format is {form}")
            token = cls(*values)
            if not isinstance(token.points, dict) or not isinstance(token.through, int):
                raise ValueError("its fields are not those of a token")
        except (ValueError, TypeError):
            raise RunError(f"{text[:40]!r} is no token; expected the text behind 'token' of a mark") from None
        return token

    def check(self, points: Mapping[str, str], query: str) -> None:
        """Raise if it is not a token of this query on this run."""
        if self.points != points:
            raise RunError(
                "the token is of another run, or of other connection points: what it counts on is not here. Give the "
                "folder of the run that it was printed for, or leave it out to begin from the start"
            )
        if self.query != query:
            raise RunError("the token is of another query; repeat the query that it was printed for, or leave it out")


@dataclass(frozen=True)
class TokenState:
    """A token with the state of its query."""

    token: Token
    chunks: Mapping[ChunkName, Chunk] = field(default_factory=dict)


def digest(network: NetworkValue) -> str:
    """What tells one query from another."""
    return sha256(json.dumps(describe_boxes(network), sort_keys=True).encode()).hexdigest()[:16]


def keep_token(path: Path, token: Token, chunks: Mapping[ChunkName, Chunk]) -> None:
    """Put a token and its state into a file, whole or not at all."""
    packed = {name: b"".join(pack_chunk(chunk)) for name, chunk in chunks.items()}
    header = {"token": str(token), "chunks": [[*name, len(part)] for name, part in packed.items()]}
    try:
        put_in_place(path, [json.dumps(header).encode() + b"\n", *packed.values()], mode=PRIVATE)
    except OSError as fault:
        raise RunError(f"--token {path}: cannot be written: {fault.strerror or fault}") from None


def read_token(path: Path) -> TokenState | None:
    """The token in a file; None if there is none yet."""
    try:
        header, _, rest = path.read_bytes().partition(b"\n")
        said: Any = json.loads(header)
        chunks: dict[ChunkName, Chunk] = {}
        at = 0
        for slot, box, table, key, length in said["chunks"]:
            chunks[slot, box, table, key] = unpack_chunk(rest[at : at + length])
            at += length
        if at != len(rest):
            raise ValueError("its length is not what it says")
        return TokenState(Token.of(said["token"]), chunks)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise RunError(f"--token {path}: cannot be read: {fault.strerror or fault}") from None
    except (ValueError, KeyError, TypeError) as broken:
        raise RunError(
            f"--token {path}: is not a token, or is damaged ({broken}); delete it to begin from the start"
        ) from None


def moved(token: Token, through: int, written: int = 0) -> Token:
    """The token of the same query, further on."""
    return replace(token, through=through, written=written)

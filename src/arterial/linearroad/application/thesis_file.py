"""The answers of a finished run as the thesis' output tuples (tables 3.3 and 3.4), beside the flat file."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from arterial.linearroad.data.event_files import writing
from arterial.linearroad.formats.answers import ANSWER_TYPES
from arterial.linearroad.formats.dialects import FLAT_FILE, PAPER, chunks_of, parse, read_chunk
from arterial.linearroad.formats.thesis import thesis_output
from arterial.storage.place import put_in_place

THESIS_FILE = "thesis.csv"


def write_thesis_file(folder: Path) -> Path:
    """Write the tuples of the answers in the flat file of a run, in dialect `paper`."""
    target = folder / THESIS_FILE

    def tuples(out: BinaryIO) -> None:
        for span in chunks_of(folder / FLAT_FILE):
            answers = parse(read_chunk(folder / FLAT_FILE, *span), PAPER).answers
            for answer_type in ANSWER_TYPES:
                out.write(thesis_output(answer_type, answers.of_type(answer_type)))

    with writing(target):
        put_in_place(target, tuples)
    return target

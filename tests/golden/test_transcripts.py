"""Commands print and write what ``transcripts.txt`` says."""

import re

from golden import transcripts


def test_commands_print_and_write_what_they_did() -> None:
    assert "\n".join(transcripts.transcripts()) == transcripts.FILE.read_text()


def test_every_refusal_is_one_line() -> None:
    text = transcripts.FILE.read_text()
    refusals = re.findall(r"^exit [^0].*\n((?:.+\n)*)", text, re.MULTILINE)
    assert len(refusals) > 200
    for refusal in refusals:
        *notes, error = refusal.splitlines()
        assert error.startswith("! crucial: error: ")
        assert all(line.startswith("! crucial: note: ") for line in notes), refusal


def test_every_verb_has_a_transcript() -> None:
    from crucial.cli.app import app

    shown = {word for command in transcripts.commands() for word in command.split()[1:2]}
    # (the demo takes long, and prefer waits for a browser)
    assert {*app.commands} - {"demo", "prefer"} <= shown

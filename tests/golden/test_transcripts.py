"""Commands print and write what ``transcripts.txt`` says."""

from golden import transcripts


def test_commands_print_and_write_what_they_did() -> None:
    assert "\n".join(transcripts.transcripts()) == transcripts.FILE.read_text()


def test_every_verb_has_a_transcript() -> None:
    from crucial.cli.app import app

    shown = {command.split()[0] for command in transcripts.commands()}
    # (the demo takes long, and prefer waits for a browser)
    assert {*app.commands} - {"demo", "prefer"} <= shown

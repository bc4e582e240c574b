"""Options of files of rows: declared once, and everything else derived."""

import inspect
from dataclasses import dataclass, fields

import click
import pytest

from crucial.cli.options import RowOptions, verb
from crucial.cli.rows import RowFormat
from crucial.distributed.input import ColumnRoles
from crucial.errors import ParameterError
from crucial.io.options import FORMATS, TableOptions, declare, from_store, to_store
from crucial.io.tables import read_table
from crucial.parameters import at_least
from refusals import refused

#: A value other than the default for every option that a model file stores.
GIVEN = {
    "absent": "missing", "index_base": 1, "label": "y", "qid": "q", "item": "url", "header": False,
    "missing": ("-",), "sep": ";", "decimal": ",", "encoding": "latin-1",
}  # fmt: skip


def test_verbs_have_every_option_and_its_text():
    command = verb("x", RowOptions)(lambda options: None)
    flags = {one.name: one for one in command.params if isinstance(one, click.Option)}
    for form in FORMATS.values():
        for one in fields(form):
            assert (one.name in flags) == ("option" in one.metadata)
            assert one.name not in flags or flags[one.name].help.startswith(
                one.metadata["text"].split(".")[0]
            )


@pytest.mark.parametrize("form", FORMATS)
def test_model_files_store_every_option_that_says_so(form):
    declared = [one.name for one in fields(FORMATS[form]) if one.metadata["stored"] != "never"]
    given = {name: GIVEN[name] for name in declared}
    stored = RowFormat(form, **given).to_store()
    assert from_store(form, stored) == given
    assert from_store(form, dict.fromkeys(stored, 7.5)) == {}
    plain = to_store(form, FORMATS[form]())
    assert all(plain[name] == getattr(FORMATS[form], name) for name in plain)


def test_an_option_may_be_a_whole_number():
    @dataclass(frozen=True, kw_only=True)
    class Skipping(TableOptions):
        skip: int = declare(0, at_least(0), "Lines above the table.", stored="if given")

    given = Skipping.checked("read_table", {"skip": 3, "ignore": ["a", "b"]})
    assert (given.skip, given.ignore) == (3, ("a", "b"))
    refused(ParameterError, "'skip' parameter", Skipping.checked, "read_table", {"skip": -1})
    command = verb("x", Skipping)(lambda options: None)
    flag = next(one for one in command.params if one.name == "skip")
    assert flag.get_help_record(click.Context(command)) == ("--skip N", "Lines above the table.")
    assert flag.type.convert("3", flag, None) == 3


def test_a_cluster_names_columns_as_tables_do():
    shared = {one.name for one in fields(ColumnRoles)} & {one.name for one in fields(TableOptions)}
    assert shared == {"label", "qid", "weight", "features", "ignore"}


def test_the_reader_takes_and_documents_every_option():
    for one in fields(TableOptions):
        assert f"\n{one.name} : {one.metadata['rule'].kind}" in inspect.getdoc(read_table)
    refused(TypeError, r"read_table\(\) got an unexpected .* 'lable'", read_table, "x", lable="y")
    refused(ParameterError, "'label' parameter of read_table", read_table, "x", label=7)

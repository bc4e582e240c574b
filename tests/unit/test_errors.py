"""Errors carry what their messages are made of."""

import pickle

import pytest

from crucial import errors
from crucial.errors import (
    Argument,
    CrucialError,
    DataError,
    DataTypeError,
    FileError,
    Message,
    MissingExtraError,
    ModelFileError,
    ParameterError,
    about,
    in_file,
)

REMEDY = Message("Use ", Argument("duplicates", "last"), ".")


def spell(argument: Argument) -> str:
    return f"--{argument.name} {argument.value}"


class TestFields:
    def test_parameter_error(self):
        error = ParameterError.refused("RankBoost", "max_bins", "an int of at least 2", 1)
        assert (error.owner, error.parameter, error.value) == ("RankBoost", "max_bins", 1)
        assert error.rule == "an int of at least 2"
        assert str(error) == (
            "The 'max_bins' parameter of RankBoost must be an int of at least 2. Got 1 instead."
        )

    def test_file_error(self):
        error = FileError("a.csv", "a cell is empty.", 3, 7, remedy="Fill it.")
        assert (error.path, error.line, error.column) == ("a.csv", 3, 7)
        assert str(error) == "a.csv, line 3, column 7: a cell is empty. Fill it."

    def test_model_file_error(self):
        assert str(ModelFileError("is empty.", path="m.json")) == "m.json: is empty."

    @pytest.mark.parametrize("error", [
        FileError("a.csv", "no.", 3, 7, remedy=REMEDY),
        ParameterError.refused("RankBoost", "p", "a number", "x"),
        DataTypeError("X is a list.", parameter="X"),
        ModelFileError("is empty.", path="m.json"),
        MissingExtraError("install it."),
    ])  # fmt: skip
    def test_pickles(self, error):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error)
        assert (str(back), back.__dict__) == (str(error), error.__dict__)
        assert back.message.spelled(spell) == error.message.spelled(spell)


class TestMessages:
    def test_arguments_are_spelled_anew(self):
        error = DataError("row 1 (from 0) repeats row 0.", remedy=REMEDY)
        assert str(error) == "row 1 (from 0) repeats row 0. Use duplicates='last'."
        assert error.message.spelled(spell).endswith(" row 0. Use --duplicates last.")

    def test_in_file_and_about_keep_the_fields(self):
        error = DataError("qid is NaN.", remedy=REMEDY, parameter="qid")
        named = error.about("task 'a'").in_file("x.csv")
        assert str(named) == "x.csv: task 'a': qid is NaN. Use duplicates='last'."
        assert named.message.spelled(spell) == "x.csv: task 'a': qid is NaN. Use --duplicates last."
        assert named.parameter == "qid"

    @pytest.mark.parametrize("naming", [in_file, about])
    def test_an_error_that_names_a_file_keeps_it(self, naming):
        error = FileError("inner.csv", "is empty.")
        with pytest.raises(FileError) as caught, naming("outer"):
            raise error
        assert caught.value is error

    def test_about_keeps_the_type(self):
        with pytest.raises(DataTypeError, match="task 'b': X is a list"), about("task 'b'"):
            raise DataTypeError("X is a list.")


def test_the_docstring_lists_every_exception():
    for name, one in vars(errors).items():
        if isinstance(one, type) and issubclass(one, CrucialError | UserWarning):
            assert name in (errors.__doc__ or "")

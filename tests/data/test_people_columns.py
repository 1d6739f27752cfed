"""Which column of a wide table holds the people, and columns that the messages tell how to leave out."""

import shlex
from pathlib import Path

import pytest

import lpbandits as lpb
from lpbandits.cli.options import dropped_lines, split_columns
from lpbandits.errors import InvalidInput
from tests.data.test_layouts import ratings_of, write


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("sent,respondent,tea,jam", "respondent"),
        ("name,tea,jam,ale", "name"),
        ("user,respondent,tea,jam", "user"),
        ("sent,user,respondent,tea", "sent"),
    ],
)
def test_a_wide_table_has_its_people_in_the_column_that_is_named_for_them(
    header: str, column: str, tmp_path: Path
) -> None:
    path = write(tmp_path, f"{header}\n5,1,3,4\n6,2,2,5\n")
    log = lpb.read_ratings(path, layout="wide", columns=header.split(",")[-1:])
    place = header.split(",").index(column)
    assert (log.person_column, log.people) == (column, ((5, 6), (1, 2))[place])
    assert lpb.read_ratings(path, layout="wide", person=header.split(",")[1]).people == (1, 2)
    with lpb.spill_ratings(path, layout="wide", columns=header.split(",")[-1:]) as spilled:
        assert spilled.person_column == column


def test_an_action_of_the_model_is_not_the_person_of_a_history(tmp_path: Path) -> None:
    from lpbandits.decisions.inputs import open_history

    path = write(tmp_path, "code,guest,tea\n1,3,4\n2,2,5\n")
    model = lpb.PreferenceModel([[0, 1]], actions=["guest", "tea"])
    with open_history(path, {"layout": "wide"}, model) as past:
        assert past.person_column == "code"


@pytest.mark.parametrize("options", [{}, {"layout": "wide"}, {"person": "user"}])
@pytest.mark.parametrize("numbers", [(0, 1, 2), (3, 8, 9)])
def test_row_numbers_without_a_name_are_ignored_with_a_note(
    options: dict[str, str], numbers: tuple[int, ...], tmp_path: Path
) -> None:
    rows = zip(numbers, ("ann,3,4", "bo,5,1", "cy,2,2"), strict=True)
    path = write(tmp_path, ",user,tea,jam\n" + "".join(f"{n},{row}\n" for n, row in rows))
    log = lpb.read_ratings(path, **options)  # type: ignore[arg-type] # text
    assert ratings_of(log) == {"ann": {"tea": 3, "jam": 4}, "bo": {"tea": 5, "jam": 1}, "cy": {"tea": 2, "jam": 2}}
    assert dropped_lines(log.dropped, None) == ["ignored the first column, which has no name and counts the rows"]


def test_other_columns_without_a_name_are_no_row_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, ",user,tea,jam\n4,ann,3,4\n1,bo,5,1\n")
    with pytest.raises(InvalidInput, match=r"column 1 of .* has values but no name"):
        lpb.read_ratings(path)
    people = write(tmp_path, ",tea,jam\n7,3,4\n8,5,1\n")
    log = lpb.read_ratings(people, layout="wide")
    assert (log.people, log.dropped.get("row_numbers")) == ((7, 8), None)


@pytest.mark.parametrize("name", ["age, years", "age"])
def test_the_remedy_for_a_column_with_a_comma_works(name: str, tmp_path: Path) -> None:
    quoted = name.replace('"', '""')
    rows = "".join(f"p{n},{20 + 3 * n},{1 + n % 5},{5 - n % 5},{1 + n % 2}\n" for n in range(12))
    path = write(tmp_path, f'user,"{quoted}",tea,jam,ale\n{rows}')
    with pytest.raises(InvalidInput, match="probably not an action") as error:
        lpb.read_ratings(path, layout="wide")
    words = shlex.split(str(error.value).partition("(--ignore ")[2].partition("), or name")[0])
    assert split_columns(words[0], "--ignore") == [name]
    assert set(lpb.read_ratings(path, layout="wide", ignore=[name]).actions) == {"tea", "jam", "ale"}


def test_a_list_of_columns_with_a_broken_quote_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="--columns must be names separated by commas"):
        split_columns('"age, years', "--columns")

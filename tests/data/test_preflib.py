"""PrefLib files of rankings."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data.preflib import PrefLibTable
from lpbandits.errors import InvalidInput
from tests.data.test_layouts import ratings_of, write

HEAD = """# FILE NAME: 00001-1.soc
# TITLE: Breakfast: what first?
# DATA TYPE: soc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 3
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: Tea, green
# ALTERNATIVE NAME 2: jam
# ALTERNATIVE NAME 3: milk
"""
SOC = HEAD + "2: 3,1,2\n1: 1,2,3\n"


@pytest.mark.parametrize("name", ["a.soc", "a.SOC", "a.soc.gz"])
@pytest.mark.parametrize(
    "content", [SOC, "\ufeff" + SOC.replace("\n", "\r\n"), SOC.replace("3,1,2", " 3, 1 ,2 ") + "\n"]
)
def test_voters_become_people_and_places_ratings(tmp_path: Path, name: str, content: str) -> None:
    log = lpb.read_ratings(write(tmp_path, content, name))
    first = {"milk": 3.0, "Tea, green": 2.0, "jam": 1.0}
    assert ratings_of(log) == {1: first, 2: first, 3: {"Tea, green": 3.0, "jam": 2.0, "milk": 1.0}}
    assert log.layout == "rankings"
    assert not any(log.dropped.values())


def test_ties_share_a_place_and_unranked_alternatives_have_no_rating(tmp_path: Path) -> None:
    ties = lpb.read_ratings(write(tmp_path, SOC.replace("3,1,2", "{3, 1},2"), "a.toc"))
    assert ratings_of(ties)[1] == {"milk": 2.5, "Tea, green": 2.5, "jam": 1.0}
    partial = lpb.read_ratings(write(tmp_path, SOC.replace("3,1,2", "3"), "a.soi"))
    assert ratings_of(partial)[1] == {"milk": 3.0}
    both = lpb.read_ratings(write(tmp_path, SOC.replace("3,1,2", "{2,1}"), "a.toi"))
    assert ratings_of(both)[2] == {"jam": 2.5, "Tea, green": 2.5}


def test_a_file_of_orders_needs_no_header(tmp_path: Path) -> None:
    log = lpb.read_ratings(write(tmp_path, "1: 2,1\n2: 1,2\n", "a.soc"))
    assert ratings_of(log) == {1: {2: 2.0, 1: 1.0}, 2: {1: 2.0, 2: 1.0}, 3: {1: 2.0, 2: 1.0}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.soc", SOC.replace("1: 1,2,3\n", ""), r"a\.soc says 'NUMBER VOTERS: 3', but has 2"),
        ("a.soc", SOC.replace("ORDERS: 2", "ORDERS: 5"), "says 'NUMBER UNIQUE ORDERS: 5', but has 2"),
        ("a.soc", SOC.replace("TIVES: 3", "TIVES: 4"), "says 'NUMBER ALTERNATIVES: 4', but has 3"),
        ("a.soc", SOC.replace("TIVES: 3", "TIVES: many"), "line 4: NUMBER ALTERNATIVES is 'many', not a whole number"),
        ("a.soc", HEAD, r"has no orders"),
        ("a.soc", SOC.replace("3,1,2", "3,{1,2}"), r"line 10: it has ties, but .*rename it to \.toc"),
        ("a.soi", SOC.replace("3,1,2", "{1,2}"), r"but \.soi files have none; rename it to \.toi"),
        ("a.soc", SOC.replace("3,1,2", "3,1"), r"line 10: it ranks 2 of 3 alternatives, but .*rename it to \.soi"),
        ("a.toc", SOC.replace("3,1,2", "{3,1}"), r"line 10: it ranks 2 of 3 alternatives"),
        ("a.soc", SOC.replace("3,1,2", "3,1,1"), "line 10: alternative 1 is ranked twice"),
        ("a.soc", SOC.replace("3,1,2", "3,1,9"), "has an alternative 9; they are numbered from 1 to 3"),
        ("a.soc", SOC.replace("3,1,2", "3,1,0"), "has an alternative 0; they are numbered from 1 to 3"),
        ("a.soc", SOC.replace("NAME 3", "NAME 999999999"), "has an alternative 999999999"),
        ("a.soc", "1: 1,999999999\n", "has an alternative 999999999; they are numbered from 1 to 1000000"),
        ("a.soc", SOC.replace("NAME 3", "NAME 2"), "line 9: alternative 2 has a name already"),
        ("a.soc", SOC.replace("milk", "jam"), "two alternatives of a.soc are called 'jam'; rename one"),
        ("a.soc", SOC.replace("2: 3,1,2", "0: 3,1,2"), "line 10: '0: 3,1,2' has no voters"),
        ("a.soc", SOC.replace("2: 3,1,2", "2: 3,,2"), "line 10: the order '3,,2' is not numbers"),
        ("a.toc", SOC.replace("2: 3,1,2", "2: 3,{1,2"), "line 10: the order '3,{1,2' is not numbers"),
        ("a.toc", SOC.replace("2: 3,1,2", "2: 3,{1,{2}}"), "is not numbers"),
        ("a.soc", SOC.replace("2: 3,1,2", "2: 3,-1,2"), "is not numbers"),
        ("a.soc", SOC.replace("2: 3,1,2", "two: 3,1,2"), "line 10: 'two: 3,1,2' is not an order such as"),
        ("a.soc", "3\n1,tea\n2,jam\n3,milk\n3,3,1\n", "line 1: '3' is not an order .*before 2022 have a different"),
        (
            "a.soc",
            SOC.replace("2: 3", f"{10**15}: 3").replace("VOTERS: 3", f"VOTERS: {10**15 + 1}"),
            "limit is 8,388,608",
        ),
        ("a.soc", SOC.replace("2: 3", f"{10**30}: 3"), "is not an order"),
        ("a.soc", "", "is empty"),
    ],
)
def test_a_file_that_contradicts_itself_raises(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(write(tmp_path, content, name))


@pytest.mark.parametrize(
    ("end", "options", "message"),
    [
        (b"", {"layout": "wide"}, r"layout is 'wide'.*a.soc"),
        (b"", {"person": "x"}, "person is 'x', but a PrefLib file has no columns to name"),
        (b"", {"ignore": ["x"]}, "ignore must be left out"),
        (b"1: \xff\n", {}, "line 12: it is not UTF-8 text"),
    ],
)
def test_other_errors(end: bytes, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.soc").write_bytes(SOC.encode() + end)
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(tmp_path / "a.soc", **options)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.lists(st.sets(st.integers(1, 6), min_size=1), min_size=1, max_size=4).filter(
                lambda groups: sum(map(len, groups)) == len(set().union(*groups))
            ),
        ),
        min_size=1,
    )
)
def test_every_voter_has_every_place(
    tmp_path_factory: pytest.TempPathFactory, orders: list[tuple[int, list[set[int]]]]
) -> None:
    lines = [f"{n}: " + ",".join("{" + ",".join(map(str, g)) + "}" for g in groups) for n, groups in orders]
    path = tmp_path_factory.mktemp("preflib") / "a.toi"
    path.write_text("\n".join(lines))
    frame = PrefLibTable("a.toi", path).read()
    expected = [
        (person, str(alternative), place)
        for person, groups in enumerate((groups for n, groups in orders for _ in range(n)), start=1)
        for place, group in enumerate(groups, start=1)
        for alternative in group
    ]
    assert sorted(frame.select("person", "action", "rating").rows()) == sorted(expected)

"""Models from the orderings of experts: forms of the table, merging, shares, and problems."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.fit.experts import MAX_EXPERTS
from lpbandits.model import PreferenceModel
from tests.workbooks import workbook

ORDERINGS = {"ann": [["tea"], ["jam", "egg"], ["rye"]], "bo": [["rye"], ["tea"], ["egg"], ["jam"]]}
SHARES = {"ann": 3.0, "bo": 1.0}


def texts(orderings: Any) -> dict[str, str]:
    return {name: " > ".join(" = ".join(map(str, tier)) for tier in tiers) for name, tiers in orderings.items()}


def text_table() -> pl.DataFrame:
    rows = [(name, text, SHARES[name]) for name, text in texts(ORDERINGS).items()]
    return pl.DataFrame(rows, schema=["expert", "ordering", "share"], orient="row")


def ranks_table() -> pl.DataFrame:
    rows = [
        [name, SHARES[name], *(" = ".join(tier) for tier in tiers), *[None] * (4 - len(tiers))]
        for name, tiers in ORDERINGS.items()
    ]
    return pl.DataFrame(rows, schema=["Name", "Weight", "Rank 1", "rank_2", "3", "4th"], orient="row")


def long_table() -> pl.DataFrame:
    rows = [
        (name, action, 10 * rank + 5, SHARES[name])
        for name, tiers in ORDERINGS.items()
        for rank, tier in enumerate(tiers)
        for action in tier
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank", "share"], orient="row")


def wide_table() -> pl.DataFrame:
    rows = [("ann", 3.0, 1, 2, 2, 3), ("bo", 1.0, 2, 4, 3, 1)]
    return pl.DataFrame(rows, schema=["rater", "share", "tea", "jam", "egg", "rye"], orient="row")


def tiers_table() -> pl.DataFrame:
    return ranks_table().rename({"Rank 1": "Tier 1", "rank_2": "tier2", "3": "tier_3", "4th": "group 4"})


TABLES = [
    (text_table, "text"),
    (ranks_table, "rankings"),
    (tiers_table, "rankings"),
    (long_table, "long"),
    (wide_table, "wide"),
]


@pytest.mark.parametrize(("table", "layout"), TABLES)
@pytest.mark.parametrize("kind", ["frame", "csv", "semicolons", "csv.gz", "parquet", "xlsx"])
def test_all_forms_of_a_table_give_the_same_model(table: Any, layout: str, kind: str, tmp_path: Path) -> None:
    frame = table()
    source: Any = tmp_path / f"experts.{kind}"
    if kind == "frame":
        source = frame
    elif kind == "parquet":
        frame.write_parquet(source)
    elif kind == "xlsx":
        workbook(source, [frame.columns, *map(list, frame.rows())])
    else:
        content = frame.write_csv(separator=";" if kind == "semicolons" else ",").encode()
        source.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    model = lpb.model_from_experts(source)
    assert model.provenance["layout"] == layout
    assert model == lpb.model_from_experts(ORDERINGS, shares=SHARES).replace(provenance=model.provenance)
    assert model.actions == ("tea", "jam", "egg", "rye")
    assert model.state_names == ("ann", "bo")
    assert model.tiers == ((1, 2, 1), (1, 1, 1, 1))
    assert [[model.actions[a] for a in row] for row in model.orderings] == [
        ["tea", "jam", "egg", "rye"],
        ["rye", "tea", "egg", "jam"],
    ]
    np.testing.assert_allclose(model.prior, [0.75, 0.25])


@st.composite
def groups(draw: st.DrawFn) -> list[list[str]]:
    """Draw an ordering of four actions in tiers."""
    order = draw(st.permutations("ABCD"))
    tiers = [[order[0]]]
    for action in order[1:]:
        if draw(st.booleans()):
            tiers.append([])
        tiers[-1].append(action)
    return tiers


@given(st.lists(groups(), min_size=1, max_size=6), st.data())
def test_experts_who_agree_are_one_state(orderings: list[list[list[str]]], data: st.DataObject) -> None:
    named = {f"expert {i}": tiers for i, tiers in enumerate(orderings)}
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(named), max_size=len(named)).filter(any))
    source: Any = data.draw(st.sampled_from([named, texts(named)]))
    model = lpb.model_from_experts(source, shares=dict(zip(named, weights, strict=True)))
    keys = [tuple(frozenset(tier) for tier in tiers) for tiers in orderings]
    distinct = list(dict.fromkeys(keys))
    assert model.n_states == len(distinct)
    for z, key in enumerate(distinct):
        same = [i for i, other in enumerate(keys) if other == key]
        sizes = [1] * 4 if model.tiers is None else model.tiers[z]
        ends = np.cumsum(sizes)
        tiers = [
            frozenset(model.actions[a] for a in model.orderings[z, end - size : end])
            for size, end in zip(sizes, ends, strict=True)
        ]
        assert tuple(tiers) == key
        assert abs(model.prior[z] - sum(weights[i] for i in same) / sum(weights)) < 1e-12
        names = [f"expert {i}" for i in same]
        assert model.state_name(z) == ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def test_without_shares_each_expert_counts_once_and_without_names_states_are_numbered() -> None:
    model = lpb.model_from_experts(pl.DataFrame({"ordering": ["b > a", "a > b", "b>a"]}))
    np.testing.assert_allclose(model.prior, [2 / 3, 1 / 3])
    assert (model.state_names, model.state_name(1), model.actions) == (None, "state 1", ("b", "a"))
    assert model.provenance["sum_of_shares"] is None


@pytest.mark.parametrize(
    ("orderings", "actions"),
    [
        ({"ann": "3 > 1", "bo": "1 > 3"}, (3, 1)),
        ({"ann": "3 > 01", "bo": "01 > 3"}, ("3", "01")),
        ({"ann": [3, 1], "bo": "1 > 3"}, (3, 1)),
        ({"ann": ["3", "1"], "bo": "1 > 3"}, None),
    ],
)
def test_labels_in_text_are_integers_if_all_of_them_are(orderings: Any, actions: Any) -> None:
    if actions is None:
        with pytest.raises(InvalidInput):
            lpb.model_from_experts(orderings)
    else:
        assert lpb.model_from_experts(orderings).actions == actions


def test_unranked_actions_are_an_error_or_one_last_tier() -> None:
    orderings = {"ann": "tea > jam > egg", "bo": "jam"}
    with pytest.raises(InvalidInput, match=r"bo does not rank 'tea', 'egg'.*--unranked last"):
        lpb.model_from_experts(orderings)
    model = lpb.model_from_experts(orderings, unranked="last")
    assert model.tiers == ((1, 1, 1), (1, 2))
    assert model.provenance["unranked"] == {"bo": ["tea", "egg"]}
    rows = pl.DataFrame({"expert": ["a", "a", "b", "b"], "action": [1, 2, 1, 2], "rank": [1, 2, 1, None]})
    assert lpb.model_from_experts(rows, unranked="last").tiers is None
    with pytest.raises(InvalidInput, match=r"b does not rank 2"):
        lpb.model_from_experts(rows)
    with pytest.raises(InvalidInput, match=r"unranked must .*got 'first'"):
        lpb.model_from_experts(orderings, unranked="first")  # type: ignore[arg-type] # wrong on purpose


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "experts.csv"
    path.write_text(
        "expert,share,ordering\n"
        "ann,1,tea > jam > egg\n"
        "bo,x,tea > > jam > egg\n"
        ",2,egg > jam > tea\n"
        "cy,-1,jam > tea\n"
        "\n"
        "ann,1,jam > tea > tea > egg\n"
        "di,,tea > jamm > egg\n"
        "ed,1,\n"
    )
    with pytest.raises(InvalidInput) as caught:
        lpb.model_from_experts(path)
    words = (
        *("has 10 problems", "line 3: share must .*got 'x'", "line 3: 'tea > > jam > egg'", "line 4: the name"),
        *("line 5: share must .*got '-1'", "line 5: cy does not rank 'egg'", "line 7: 'ann'.*line 2"),
        *("line 7: 'tea' is ranked twice", "line 8: share must .*got ''", "line 8: only di ranks 'jamm'.*'jam'"),
        *("line 9: .* is blank", "--unranked last"),
    )
    for word in words:
        assert re.search(word, str(caught.value)), word


def test_many_problems_are_cut_with_their_number() -> None:
    orderings = {f"expert {i}": "tea > > jam" for i in range(200)}
    with pytest.raises(InvalidInput, match=r"200 problems.*and \d+ more$"):
        lpb.model_from_experts(orderings)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "tea", "1", "2"), ("a", "jam", "x", "2")], "rank must .*'x' .*line 3"),
        ([("a", "tea", "1", "2"), ("a", "jam", "2", "3")], "share differs between rows: 2, 3"),
        ([("a", "", "1", "2"), ("a", "jam", "2", "2")], "action is missing .*line 2"),
        ([("", "tea", "1", "2"), ("a", "tea", "2", "2")], "name of the expert is missing"),
        ([("a", "tea", "1", "2"), ("a", "tea", "2", "2")], "'tea' is ranked twice"),
        ([("a", "tea", "1", "0"), ("a", "jam", "2", "")], "all shares are 0"),
    ],
)
def test_problems_of_a_table_with_a_row_per_action(rows: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "experts.csv"
    path.write_text("\n".join(["expert,action,rank,share", *(",".join(row) for row in rows)]))
    with pytest.raises(InvalidInput, match=message):
        lpb.model_from_experts(path)


@pytest.mark.parametrize("bare", ["0.3", "30"])
def test_shares_all_have_a_percent_sign_or_none(bare: str, tmp_path: Path) -> None:
    path = tmp_path / "experts.csv"
    text = "expert,share,ordering\nann,%s,tea > jam\nbo,%s,jam > tea\n"
    path.write_text(text % ("40%", bare))
    with pytest.raises(InvalidInput, match=rf"line 3: share '{bare}' has no %, but '40%' \(line 2\) has; write all"):
        lpb.model_from_experts(path)
    for shares in (("40%", "10 %"), ("40", "10"), ("0.8", "0.2")):
        path.write_text(text % shares)
        np.testing.assert_allclose(lpb.model_from_experts(path).prior, [0.8, 0.2])
    long = "expert,action,rank,share\nann,tea,1,40%\nann,jam,2,40%\nbo,tea,2,{0}\nbo,jam,1,{0}\n"
    path.write_text(long.format(bare))
    with pytest.raises(InvalidInput, match=rf"line 4: share '{bare}' has no %"):
        lpb.model_from_experts(path)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"expert": ["a"], "tea": [1], "jam": ["good"]}, "'expert', 'tea', 'jam'.*rank1"),
        (
            {"expert": ["a", "b"], "tea": [1, 2], "jam": ["2", "1st"]},
            "row 2: rank of 'jam' must be a number, got '1st'",
        ),
        ({"expert": ["a", "b"], "tea": [1, 5], "jam": [2, 4]}, "row 2: ranks must be 1 for the best .*got '5, 4'"),
        ({"expert": ["a", "b"], "tea": [1, 1], "jam": [2, None]}, "row 2: b does not rank 'jam'"),
        ({"ordering": ["tea, jam", "tea, jam"]}, "2 problems: row 1: 'tea, jam' holds ',' but neither"),
        ({"ordering": ["tea < jam", "jam > tea"]}, "1 problem: row 1: 'tea < jam' holds '<' but"),
        ({"ordering": ["tea ≽ jam ≻ egg", "egg > tea > jam"]}, "1 problem: row 1: 'tea ≽ jam ≻ egg' holds ≽"),
        ({"action": ["tea"], "rank": [1]}, "none of experts"),
        ({"expert": ["a"], "name": ["b"], "ordering": ["tea"]}, "'expert' and 'name' .*rename"),
        ({"expert": [True], "ordering": ["tea > jam"]}, "'expert' .*got True"),
        ({"ordering": []}, "no experts"),
        ({"expert": ["a"], "rank1": ["tea > jam"], "rank2": ["egg"]}, "'tea > jam' holds >"),
        ({"expert": ["a"], "rank1": [""], "rank2": [None]}, "no action is ranked"),
        ({"ordering": ["t" * 1001]}, "label of at most"),
        ({"ordering": ["a > b"] * (MAX_EXPERTS + 1)}, "experts; the limit is"),
    ],
)
def test_invalid_tables_raise(frame: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.model_from_experts(pl.DataFrame(frame, strict=False))


@pytest.mark.parametrize(
    ("source", "shares", "message"),
    [
        ({"a": "tea > jam"}, {"b": 1}, "shares must .*got"),
        ({"a": "tea > jam"}, [1], "shares must .*got"),
        ({"a": "tea > jam"}, {"a": -1}, r"shares\['a'\] must .*got -1"),
        ({"a": "tea > jam"}, {"a": 0}, "all shares are 0"),
        ({1: "tea > jam"}, None, "name of source must .*got 1"),
        ({"a": 5}, None, r"source\['a'\] must .*got 5"),
        ({"a": ["tea", 1.5]}, None, r"source\['a'\] must .*got 1.5"),
        ({}, None, "no experts"),
        (pl.DataFrame({"ordering": ["a > b"]}), {"a": 1}, "shares must be left out"),
        ("missing.csv", None, "missing.csv does not exist"),
        (7, None, "source must .*got int"),
    ],
)
def test_invalid_arguments_raise(source: Any, shares: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.model_from_experts(source, shares=shares)


def test_a_preflib_file_is_fitted_instead(tmp_path: Path) -> None:
    path = tmp_path / "votes.toc"
    path.write_text("# NUMBER ALTERNATIVES: 2\n3: 1,2\n")
    with pytest.raises(InvalidInput, match=r"lpb fit votes.toc"):
        lpb.model_from_experts(path)


def test_the_error_of_equal_orderings_names_the_function() -> None:
    with pytest.raises(InvalidInput, match=r"orderings 0 and 1 are equal.*model_from_experts"):
        PreferenceModel([["a", ["b", "c"]], ["a", ["c", "b"]]])

import pytest

from bpd.report.published import approximate_cell, missing_note, published, table1_cell


@pytest.mark.parametrize(
    ("block_size", "setting", "cell"),
    [
        (1, "regular", (26.00, 1.00)),
        (1, "distillation", (26.41, 1.00)),
        (2, "both", (26.58, 1.88)),
        (4, "fine_tuning", (25.05, 2.69)),
        (6, "regular", (26.08, 1.76)),
        (8, "distillation", (26.25, 1.91)),
        (8, "both", (26.11, 4.69)),
        (10, "fine_tuning", (23.51, 2.87)),
        (10, "both", (25.60, 4.95)),
    ],
)
def test_table_1_is_the_papers(block_size, setting, cell):
    assert table1_cell(block_size, setting) == cell


@pytest.mark.parametrize(
    ("block_size", "criterion", "cell"),
    [
        (2, "top2", (26.49, 1.92)),
        (6, "top3", (25.56, 4.69)),
        (10, "top2", (25.04, 5.67)),
        (10, "top3", (24.68, 5.91)),
        (4, "exact", (26.36, 3.27)),
        (4, "minimum2", None),
        (3, "top2", None),
    ],
)
def test_section_7_1_is_the_papers_and_its_exact_column_is_table_1(block_size, criterion, cell):
    assert approximate_cell(block_size, criterion) == cell


@pytest.mark.parametrize(("block_size", "setting"), [(1, "fine_tuning"), (1, "both"), (3, "both"), (4, "other")])
def test_where_the_paper_has_a_dash_there_is_no_number(block_size, setting):
    assert table1_cell(block_size, setting) is None


def test_the_other_numbers_are_the_papers():
    numbers = published()
    assert numbers["table1"]["baseline_bleu"] == 25.56
    assert numbers["table2"]["rows"][10] == {"regular": 1.10, "approximate": 1.40, "fine_tuning": 2.04, "both": 6.79}
    assert numbers["table3"]["rows"]["exact"][8] == [55.1, 53.3, 56.8]
    assert numbers["table3"]["rows"]["approximate"][6] == [56.8, 55.4, 58.2]
    assert numbers["table4"]["ours"] == {
        1: [29.11, 1.00],
        2: [28.95, 1.72],
        4: [28.54, 2.69],
        6: [28.11, 3.10],
        8: [27.88, 3.31],
        10: [27.40, 3.04],
    }
    assert numbers["table4"]["quoted"]["Iterative refinement, i = 10 (Lee et al., 2018)"] == [21.61, 2.01]
    assert len(numbers["table4"]["quoted"]) == 17
    assert numbers["figure4"]["super_resolution"] == {"k": 6, "speedup": 4.0, "mean_accepted_block_size": 5.3}
    assert numbers["trace"]["accepted"] == [10, 5, 4, 10, 2, 3]


def test_no_cell_of_table_1_and_section_7_1_is_missing():
    assert sum(len(row) for row in published()["table1"]["rows"].values()) == 22
    assert sum(len(row) for row in published()["approximate"]["rows"].values()) == 10


def test_the_block_sizes_that_only_the_paper_has_are_told():
    assert missing_note("table1", (1, 2, 4)) == ["The paper also has k = 6, 8, 10, which this scale does not run."]
    assert missing_note("approximate", range(1, 11)) == missing_note("table2", range(1, 11)) == []

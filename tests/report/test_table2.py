from pathlib import Path

import pytest

from bpd.errors import BpdError
from bpd.report.image_scores import ImageScores
from bpd.report.table2 import is_damaged, source_of, table2
from bpd.report.table_files import markdown_page, read_markdown
from bpd.report.tables import GAP, write_table
from tests.report.example_images import SETTINGS, write_score

HEADER = (
    "k,setting,mean_accepted_block_size,published_mean_accepted_block_size,bits_per_dimension,psnr,ssim,"
    "p1_lost_bits,p1_lost_psnr,p1_damaged,images,mean_accepted_block_size_sd\n"
)


@pytest.fixture
def scores(tmp_path):
    return ImageScores(
        [
            write_score(tmp_path, "base", mean_accepted_block_size=1.0),
            write_score(tmp_path, "regular_k1", mean_accepted_block_size=1.0, bits_per_dimension=4.75),
            write_score(tmp_path, "regular_k2", mean_accepted_block_size=1.0625),
            write_score(tmp_path, "regular_k2", "distance2", mean_accepted_block_size=1.25, psnr=19.0),
            write_score(tmp_path, "fine_tuning_k2", mean_accepted_block_size=1.5, psnr=20.5),
            write_score(tmp_path, "fine_tuning_k2", "distance2", mean_accepted_block_size=1.875, psnr=12.0),
            write_score(tmp_path, "fine_tuning_k3", "distance2", mean_accepted_block_size=2.5),
        ]
    )


@pytest.fixture
def table(scores):
    return table2(scores, (1, 2, 3, 4), SETTINGS, "distance2", "mini")


def test_table_2_as_csv(table):
    assert table.csv() == (
        HEADER + "1,base,1.0,,5.0,22.0,0.6,0.0,0.0,False,10,\n"
        "1,regular,1.0,1.0,4.75,22.0,0.6,-0.25,0.0,False,10,\n"
        "2,regular,1.0625,1.07,5.0,22.0,0.6,0.0,0.0,False,10,\n"
        "2,approximate,1.25,1.24,5.0,19.0,0.6,0.0,0.0,False,10,\n"
        "2,fine_tuning,1.5,1.59,5.0,20.5,0.6,0.0,1.5,True,10,\n"
        "2,both,1.875,1.96,5.0,12.0,0.6,0.0,1.5,True,10,\n"
        "3,both,2.5,,5.0,22.0,0.6,,,,10,\n"
        "4,regular,,1.08,,,,,,,,\n"
        "4,approximate,,1.36,,,,,,,,\n"
        "4,fine_tuning,,2.11,,,,,,,,\n"
        "4,both,,3.75,,,,,,,,\n"
    )


def test_table_2_as_markdown(table):
    rows = [line for line in table.markdown().split("Published:")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    titles = ("Regular", "Approximate", "Fine Tuning", "Both")
    assert cells[0] == ["k", *(text for title in titles for text in (title, f"{title}, published"))]
    assert cells[2:] == [
        ["1", "1.00", "1.00", *[GAP] * 6],
        ["2", "1.06", "1.07", "1.25", "1.24", "1.50†", "1.59", "1.88†", "1.96"],
        ["3", *[GAP] * 6, "2.50", GAP],
        ["4", GAP, "1.08", GAP, "1.36", GAP, "2.11", GAP, "3.75"],
    ]


def test_table_2_says_what_it_is_of(table):
    text = table.markdown()
    assert "**Table 2. Mean accepted block size on 10 dev images, scale mini; approximate: ε = 2**" in text
    assert "Published: Stern et al. (2018), CelebA dev set, 8×8 to 32×32. They are of other photographs" in text
    assert (
        "† p₁ lost more than 0.3 bits per intensity, or its greedy images more than 1 dB, against the base model: "
        "the block size is of worse images."
    ) in text
    assert (
        "Base model, greedy: 5.00 bits per intensity (with another image's input 5.50), PSNR 22.00 dB, SSIM 0.600."
    ) in text
    assert "Nearest neighbour: PSNR 19.75 dB, SSIM 0.500." in text
    assert "Bicubic: PSNR 21.00 dB, SSIM 0.550." in text
    assert "Fine Tuning, p₁'s bits per intensity and PSNR in dB: k = 2: 5.00, 20.50.  " in text
    assert "device cpu; precision fp32; commit 0123456789ab; all hashes: image_scores.csv." in text
    models = [row.split("|")[1].strip() for row in text.split("\n\n")[-1].splitlines()[2:]]
    assert models == ["base", "regular_k1", "regular_k2", "fine_tuning_k2", "fine_tuning_k3"]


def test_table_2_as_latex(table):
    text = table.latex()
    lines = text.splitlines()
    assert "$k$ & Regular & Approximate & Fine Tuning & Both \\\\" in lines
    ours = lines.index("2 & 1.06 & 1.25 & 1.50$^\\dagger$ & 1.88$^\\dagger$ \\\\*")
    theirs = [cell.strip() for cell in lines[ours + 1].removesuffix("\\\\").split("&")]
    wanted = [rf"{{\scriptsize\textit{{published {cell}}}}}" for cell in ("1.07", "1.24", "1.59", "1.96")]
    assert theirs == ["", *wanted]
    assert "approximate: $\\epsilon$~=~2" in text and "8$\\times$8 to 32$\\times$32" in text
    assert "$^\\dagger$ p$_1$ lost more than" in text
    assert text.isascii()


def test_a_footnote_stands_only_where_there_is_a_dagger(tmp_path):
    scores = ImageScores([write_score(tmp_path, "base"), write_score(tmp_path, "regular_k2")])
    text = table2(scores, (1, 2), SETTINGS, "distance2", "paper").markdown()
    assert "†" not in text and "compare the pattern" not in text


@pytest.mark.parametrize(
    ("bits", "psnr", "damaged"),
    [
        (0.0, 0.0, False),
        (0.3, 1.0, False),
        # 1.3 − 1.0 is a little above 0.3 in floats, and 21.1 − 20.1 above 1.
        (1.3 - 1.0, 21.1 - 20.1, False),
        (0.3001, 0.0, True),
        (0.0, 1.0001, True),
        (-2.0, 1.5, True),
        (0.5, -3.0, True),
        (-1.0, -1.0, False),
    ],
)
def test_p1_is_damaged_above_0_3_bits_or_1_db(bits, psnr, damaged):
    assert is_damaged(bits, psnr) is damaged


def test_damage_is_of_the_model_whatever_its_criterion(tmp_path):
    paths = [
        write_score(tmp_path, "base"),
        write_score(tmp_path, "regular_k2", bits_per_dimension=5.25, psnr=21.5),
        write_score(tmp_path, "regular_k2", "distance2", bits_per_dimension=5.25, psnr=9.0),
        write_score(tmp_path, "fine_tuning_k2", bits_per_dimension=5.5, psnr=25.0),
        write_score(tmp_path, "fine_tuning_k2", "distance2", bits_per_dimension=5.5, psnr=25.0),
    ]
    cells = table2(ImageScores(paths), (2,), SETTINGS, "distance2", "mini").cells
    assert {column: cell.p1_damaged for (_, column), cell in cells.items()} == {
        "base": False,
        "regular": False,
        "approximate": False,
        "fine_tuning": True,
        "both": True,
    }
    assert (cells[2, "approximate"].p1_lost_bits, cells[2, "approximate"].p1_lost_psnr) == (0.25, 0.5)


def test_without_a_base_nothing_is_said_to_be_damaged(tmp_path):
    paths = [write_score(tmp_path, "regular_k2", bits_per_dimension=9.0)]
    table = table2(ImageScores(paths), (2,), ("regular",), "distance2", "mini")
    assert table.cells[2, "regular"].p1_damaged is None
    assert "The base model was not decoded" in table.markdown()
    assert list(table.columns) == ["regular", "approximate"]


def test_scores_of_unlike_images_are_refused(tmp_path):
    paths = [write_score(tmp_path, "base"), write_score(tmp_path, "regular_k2", images=9)]
    with pytest.raises(BpdError, match="unlike images"):
        table2(ImageScores(paths), (2,), SETTINGS, "distance2", "mini")


def test_cells_come_from_their_model_and_criterion():
    assert [source_of(column, 4, "distance3") for column in ("regular", "approximate", "fine_tuning", "both")] == [
        ("regular_k4", "exact"),
        ("regular_k4", "distance3"),
        ("fine_tuning_k4", "exact"),
        ("fine_tuning_k4", "distance3"),
    ]


def test_the_table_is_written_four_ways(table, tmp_path):
    paths = write_table(table, tmp_path / "tables")
    assert [path.name for path in paths] == ["table2.csv", "table2.md", "table2.tex", "table2.html"]
    expected = [table.csv(), table.markdown(), table.latex(), markdown_page(table.markdown(), "table2")]
    read = {".md": read_markdown}
    assert [read.get(path.suffix, Path.read_text)(path) for path in paths] == expected

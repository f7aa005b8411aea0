from bpd.report.style import new_figure, write_figure


def drawn():
    figure = new_figure(3, 2)
    figure.subplots().plot([1, 2], [3, 4], label="a")
    return figure


def test_a_figure_is_written_as_pdf_and_png_without_dates(tmp_path):
    paths = write_figure(drawn(), tmp_path / "new", "curve")
    assert [path.name for path in paths] == ["curve.pdf", "curve.png"]
    pdf, png = (path.read_bytes() for path in paths)
    assert pdf.startswith(b"%PDF") and png.startswith(b"\x89PNG")
    assert b"Date" not in pdf
    assert b"Software" not in png
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["curve.pdf", "curve.png"]


def test_the_same_figure_is_the_same_bytes(tmp_path):
    first, second = write_figure(drawn(), tmp_path / "a", "curve"), write_figure(drawn(), tmp_path / "b", "curve")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_fonts_are_embedded_as_text_that_can_be_edited(tmp_path):
    pdf, _ = write_figure(drawn(), tmp_path, "curve")
    assert b"/FontFile2" in pdf.read_bytes() and b"/Type3" not in pdf.read_bytes()

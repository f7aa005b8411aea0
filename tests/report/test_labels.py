"""Labels of points: off what is drawn, and tied to their points where there is no room beside them."""

from bpd.report.labels import Label, label_points
from bpd.report.style import new_figure
from tests.report.visible import text_box


def labelled(points, strokes=()):
    figure = new_figure(4, 4)
    axes = figure.subplots()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    label_points(axes, [[Label(str(n), x, y, "#000000")] for n, (x, y) in enumerate(points)], strokes)
    figure.draw_without_rendering()
    return axes


def test_a_label_keeps_off_a_stroke():
    stroke = [(0.5, 0.5), (0.6, 0.6)]
    (free,), (aside,) = labelled([(0.5, 0.5)]).texts, labelled([(0.5, 0.5)], [stroke]).texts
    assert min(free.xyann) > 0, "above and to the right"
    assert min(aside.xyann) < 0


def test_labels_of_a_crowd_do_not_overlap_and_far_ones_are_tied_by_a_line():
    points = [(0.5 + 0.01 * n, 0.5 + 0.006 * (n % 3)) for n in range(16)]
    texts = labelled(points).texts
    boxes = [text_box(text).shrunk(0.8, 0.8) for text in texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert {text.arrow_patch is not None for text in texts} == {True, False}

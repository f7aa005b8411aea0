"""The processes that compute one job together: one, or as many as `torchrun` has started on one or several machines."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as distributed
from torch import Tensor

from bpd.errors import BpdError
from bpd.launch import started_by_torchrun

Item = TypeVar("Item")

# One process may decode a dev set or write a large file while the others wait for it.
_PATIENCE = timedelta(hours=6)
# Gradients travel in pieces of about 64 MiB: few enough calls, and little memory beside the gradients themselves.
_PIECE_ELEMENTS = 2**24
_PR_SET_PDEATHSIG = 1


class Processes:
    """Process `rank` of `size` that take equal steps. Alone, every method does what it says at no cost."""

    def __init__(self, rank: int = 0, size: int = 1, control: Any = None) -> None:
        self.rank = rank
        self.size = size
        self._control = control

    @property
    def writes(self) -> bool:
        """Whether this is the one process that writes files and shows progress."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> Iterator[tuple[int, Item]]:
        """Yield this process's part of `items`, each with its place in the whole."""
        return ((place, items[place]) for place in range(self.rank, len(items), self.size))

    def gather(self, values: Any) -> list[Any]:
        """Return what every process passed, in the order of ranks, on every process."""
        if self.size == 1:
            return [values]
        gathered: list[Any] = [None] * self.size
        with self._together():
            distributed.all_gather_object(gathered, values, group=self._control)
        return gathered

    def from_writer(self, value: Any) -> Any:
        """Return, on every process, the `value` that the writing process passed; the others pass none."""
        if self.size == 1:
            return value
        values = [value]
        with self._together():
            distributed.broadcast_object_list(values, src=0, group=self._control)
        return values[0]

    def wait(self) -> None:
        """Return when every process has come here."""
        if self.size > 1:
            with self._together():
                distributed.barrier(group=self._control)

    def require_same(self, what: str, value: Any) -> None:
        """Raise `BpdError`, on every process, unless all of them passed the same `value` of `what`."""
        values = self.gather(value)
        if any(other != values[0] for other in values):
            listed = ", ".join(f"process {rank}: {other}" for rank, other in enumerate(values))
            raise BpdError(f"the processes of one training differ in {what} ({listed}); start it again")

    def sum(self, tensor: Tensor) -> Tensor:
        """Add up `tensor` over the processes, in place, and return it."""
        if self.size > 1:
            with self._together():
                distributed.all_reduce(tensor)
        return tensor

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Add up the gradients of `parameters` over the processes; all must have gradients for the same ones."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        with self._together():
            for piece in _pieces(gradients):
                _sum_piece(piece)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Word what the libraries report when another process has gone in the middle of a common step."""
        try:
            yield
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise BpdError(f"process {self.rank} of {self.size} has lost the others ({reason})") from None


ALONE = Processes()


def _pieces(gradients: list[Tensor]) -> Iterator[list[Tensor]]:
    """Yield `gradients` in pieces that may be joined: of one kind of number, and not too large."""
    piece: list[Tensor] = []
    elements = 0
    for gradient in gradients:
        if piece and (elements + gradient.numel() > _PIECE_ELEMENTS or piece[0].dtype != gradient.dtype):
            yield piece
            piece, elements = [], 0
        piece.append(gradient)
        elements += gradient.numel()
    if piece:
        yield piece


def _sum_piece(gradients: list[Tensor]) -> None:
    joined = torch.cat([gradient.reshape(-1) for gradient in gradients])
    distributed.all_reduce(joined)
    first = 0
    for gradient in gradients:
        gradient.copy_(joined[first : first + gradient.numel()].view_as(gradient))
        first += gradient.numel()


@contextmanager
def joined_processes(device: torch.device) -> Iterator[Processes]:
    """Join the other processes of the job, over NCCL where `device` is a card and over gloo otherwise, and leave them.

    A process that dies, or that fails in here, ends the others: their next common step fails, and `torchrun` stops
    them.
    """
    if not started_by_torchrun():
        yield ALONE
        return
    _end_with_launcher()
    backend = "nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, timeout=timedelta(minutes=30))
    control = distributed.new_group(backend="gloo", timeout=_PATIENCE)
    yield Processes(distributed.get_rank(), distributed.get_world_size(), control)
    distributed.destroy_process_group()


def _end_with_launcher() -> None:
    """Have the kernel send SIGTERM to this process when the one that started it dies, where the kernel can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))

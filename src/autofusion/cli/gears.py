"""Gears: the options that list the only shapes which an artifact takes, in the manner of CANN's tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autofusion.cli.values import OPEN, is_number
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError

if TYPE_CHECKING:
    from autofusion.plan import Size

BATCH, IMAGE, DIMS = "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"
"""Numbers for the first axis; heights and widths; numbers for every open extent."""

FEWEST, MOST = 2, 100
"""How many gears there may be."""

Gear = Mapping[str, tuple[int, ...]]


def read_gears(
    given: Mapping[str, str], shapes: Mapping[str, tuple[Size, ...]], input_format: str | None = None
) -> tuple[Gear, ...]:
    """The shapes of inputs for each gear, () where no option asks for gears; raises UsageError.

    Args:
        given: Values of the options by name.
        shapes: Extents of the inputs, in which the gears put numbers for -1.
        input_format: What --input_format says, None where the command has no such option.
    """
    options = [name for name in (BATCH, IMAGE, DIMS) if given.get(name)]
    if not options:
        return ()
    if len(options) > 1:
        names = " and ".join(f"--{name}" for name in options)
        raise _refuse("AF232", f"{names} exclude each other", f"pass one of them; --{DIMS} can say all of it")
    (option,) = options
    _check_format(option, input_format)
    numbers = _read_numbers(option, given[option])
    _check_open(option, shapes)
    if option == BATCH:
        _check_batch(shapes)
    if option == IMAGE:
        _check_image(shapes)
    wanted = _Wanted(option, numbers, sum(shape.count(OPEN) for shape in shapes.values()))
    _check_numbers(wanted)
    return tuple(_fill(shapes, option, gear) for gear in numbers)


@dataclass(frozen=True)
class _Wanted:
    """The gears that an option lists, for so many open extents."""

    option: str
    gears: list[tuple[int, ...]]
    count: int


def _read_numbers(option: str, text: str) -> list[tuple[int, ...]]:
    """`"1,2;3,4"` as numbers by gear, and `"1,2,4"` of batches as one each."""
    parts = text.rstrip("; ").split("," if option == BATCH else ";")
    gears: list[tuple[int, ...]] = []
    for part in parts:
        words = [word.strip() for word in part.split(",")]
        if not all(is_number(word.removeprefix("-")) for word in words):
            message = f"value {text!r} of --{option} is invalid: {part.strip()!r} is no gear"
            raise _refuse("AF214", message, _EXAMPLES[option])
        gears.append(tuple(map(int, words)))
    return gears


def _check_format(option: str, input_format: str | None) -> None:
    if option == DIMS and input_format not in (None, "ND"):
        raise _refuse("AF231", f"--{DIMS} can only be used with --input_format=ND", "pass --input_format=ND as well")
    if option == IMAGE and input_format == "ND":
        raise _refuse("AF231", f"--{IMAGE} cannot be used with --input_format=ND", "leave --input_format out")


def _check_open(option: str, shapes: Mapping[str, tuple[Size, ...]]) -> None:
    for name, shape in shapes.items():
        other = next((size for size in shape if isinstance(size, str)), None)
        if other is not None:
            message = f"extent {other} of input {name!r} in --input_shape does not go with --{option}"
            raise _refuse("AF225", message, "write -1 for the extents that the gears tell, and numbers for all others")
    if any(OPEN in shape for shape in shapes.values()):
        return
    if option == BATCH:
        message = f"no input in --input_shape has -1 for its first extent, which --{BATCH} tells"
        raise _refuse("AF229", message, 'write -1 there, as in --input_shape="x:-1,3,224,224"')
    message = f"--input_shape has no -1, whose extents --{option} tells"
    raise _refuse("AF225", message, 'write -1 for them, as in --input_shape="x:1,3,-1,-1"')


def _check_batch(shapes: Mapping[str, tuple[Size, ...]]) -> None:
    for name, shape in shapes.items():
        axis = next((axis for axis, size in enumerate(shape) if size == OPEN and axis), None)
        if axis is not None:
            message = f"extent {axis} of input {name!r} is -1, but --{BATCH} tells the first one alone"
            raise _refuse("AF226", message, f"give it a number, or use --{DIMS}")


def _check_image(shapes: Mapping[str, tuple[Size, ...]]) -> None:
    for name, shape in shapes.items():
        axes = [axis for axis, size in enumerate(shape) if size == OPEN]
        if axes not in ([], [2, 3]) or (axes and len(shape) != 4):
            message = f"input {name!r} has -1 elsewhere than for height and width, which --{IMAGE} tells"
            raise _refuse("AF227", message, f'write --input_shape="{name}:1,3,-1,-1", or use --{DIMS}')


def _check_numbers(wanted: _Wanted) -> None:
    option, gears = wanted.option, wanted.gears
    if len(gears) < FEWEST:
        raise _refuse("AF220", f"--{option} has one gear", f"give {FEWEST} at least, or the numbers in --input_shape")
    if len(gears) > MOST:
        raise _refuse("AF221", f"--{option} has {len(gears)} gears, at most {MOST} are possible", _LEAVE_OPEN)
    uneven = next((gear for gear in gears if len(gear) != len(gears[0])), None)
    if uneven is not None and option == DIMS:
        message = f"gears {_show(gears[0])} and {_show(uneven)} of --{DIMS} have unequal numbers of extents"
        raise _refuse("AF222", message, "give every gear a number for each -1 of --input_shape")
    for gear in gears:
        if option == IMAGE and len(gear) != 2:
            raise _refuse("AF228", f"gear {_show(gear)} of --{IMAGE} is not a height and a width", _EXAMPLES[IMAGE])
        if option == DIMS and len(gear) != wanted.count:
            message = f"gear {_show(gear)} of --{DIMS} has {len(gear)} numbers, --input_shape has {wanted.count} -1"
            raise _refuse("AF230", message, "give every gear a number for each -1, in their order")
        if min(gear) < 1:
            raise _refuse("AF223", f"gear {_show(gear)} of --{option} has an extent of {min(gear)}", "begin with 1")
    twice = next((gear for index, gear in enumerate(gears) if gear in gears[:index]), None)
    if twice is not None:
        raise _refuse("AF224", f"--{option} has gear {_show(twice)} twice", "list every gear once")


def _fill(shapes: Mapping[str, tuple[Size, ...]], option: str, gear: tuple[int, ...]) -> Gear:
    """The shapes with the numbers of `gear` for -1: in order, or over again for every input."""
    rest = iter(gear)
    filled: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        numbers = rest if option == DIMS else iter(gear)
        filled[name] = tuple(next(numbers) if size == OPEN else int(size) for size in shape)
    return filled


def _show(gear: tuple[int, ...]) -> str:
    return ",".join(map(str, gear))


def _refuse(code: str, message: str, remedy: str) -> UsageError:
    return UsageError(Diagnostic(code, message, help=remedy))


_EXAMPLES = {
    BATCH: f"write --{BATCH}=1,2,4",
    IMAGE: f'write --{IMAGE}="416,416;832,832"',
    DIMS: f'write --{DIMS}="1,128;2,128"',
}
_LEAVE_OPEN = 'leave the extents open instead, or give a range, as in --input_shape="x:1~512,3,224,224"'

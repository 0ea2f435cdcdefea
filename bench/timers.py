"""Exclusive times of functions, without the timed functions that they call."""

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter_ns


class TimerError(Exception):
    """An error for the name of a timed function that does not exist or is not a function."""


@dataclass
class Figures:
    """The number of calls and the exclusive time of one layer."""

    calls: int = 0
    nanoseconds: int = 0


@dataclass
class Timers:
    """The figures of layers by name. Each thread has its own stack of calls. A recursive call is not counted twice."""

    figures: dict[str, Figures] = field(default_factory=dict)
    _local: threading.local = field(default_factory=threading.local)

    def timed(self, layer: str, function: Callable) -> Callable:
        """Return a wrapper of the function that adds its exclusive time to the layer."""
        figures = self.figures.setdefault(layer, Figures())
        local, clock = self._local, perf_counter_ns

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            # A stack: for each running timed function, the time of the timed functions that it called. The first item
            # receives the time of the outermost functions.
            try:
                callee_times = local.callee_times
            except AttributeError:
                callee_times = local.callee_times = [0]
            callee_times.append(0)
            started_at = clock()
            try:
                return function(*args, **kwargs)
            finally:
                duration = clock() - started_at
                figures.nanoseconds += duration - callee_times.pop()
                figures.calls += 1
                callee_times[-1] += duration

        return wrapper

    def clear(self) -> None:
        for figures in self.figures.values():
            figures.calls = figures.nanoseconds = 0

    def overhead(self, calls: int = 20_000) -> float:
        """Return the nanoseconds that timing adds to one call. They are part of the time of the calling layer."""
        # Use other timers, so that the figures do not include these calls.
        timers = Timers()
        timed, started_at = timers.timed("nothing", lambda: None), perf_counter_ns()
        for _ in range(calls):
            timed()
        return (perf_counter_ns() - started_at - timers.figures["nothing"].nanoseconds) / calls


def wrap(timers: Timers, layer: str, name: str) -> Callable[[], None]:
    """Time `module:function` or `module:Class.method` as part of a layer. Return a function that removes the timer.

    A function is also replaced in modules that import it by name. Raise TimerError if the function does not exist.
    """
    module_name, _, path = name.partition(":")
    *owners, attribute = path.split(".")
    try:
        owner = import_module(module_name)
        for owner_name in owners:
            owner = getattr(owner, owner_name)
        # Read from the class dictionary, so that static and class methods keep their kind.
        function = inspect.getattr_static(owner, attribute)
    except (ImportError, AttributeError) as error:
        raise TimerError(f"The layer “{layer}” times {name}, which does not exist: {error}") from error
    if isinstance(function, staticmethod | classmethod):
        timed = type(function)(timers.timed(layer, function.__func__))
    elif callable(function):
        timed = timers.timed(layer, function)
    else:
        raise TimerError(f"The layer “{layer}” times {name}, which is not a function")
    original = vars(owner).get(attribute, MISSING)
    setattr(owner, attribute, timed)
    importers = [] if owners else list(replace(function, timed))

    def undo() -> None:
        if original is MISSING:
            delattr(owner, attribute)
        else:
            setattr(owner, attribute, original)
        for module, name_in_module in importers:
            setattr(module, name_in_module, function)

    return undo


# The value for an attribute that a class inherits and does not define itself.
MISSING = object()


def replace(function: Callable, replacement: Callable) -> Iterable[tuple[object, str]]:
    """Replace a function in all modules that import it. Yield each module, and the name of the function in the module."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is function:
                setattr(module, name, replacement)
                yield module, name

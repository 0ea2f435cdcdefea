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
    """An error for a timed function that does not exist."""


@dataclass
class Figures:
    calls: int = 0
    nanoseconds: int = 0


@dataclass
class Timers:
    """Times of layers by name. Each thread has its own stack; a layer may call itself."""

    figures: dict[str, Figures] = field(default_factory=dict)
    _threads: threading.local = field(default_factory=threading.local)

    def timed(self, layer: str, function: Callable) -> Callable:
        figures = self.figures.setdefault(layer, Figures())
        threads, clock = self._threads, perf_counter_ns

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            # A stack with the time of the timed callees of each running function.
            try:
                inner = threads.inner
            except AttributeError:
                inner = threads.inner = [0]
            inner.append(0)
            started_at = clock()
            try:
                return function(*args, **kwargs)
            finally:
                duration = clock() - started_at
                figures.nanoseconds += duration - inner.pop()
                figures.calls += 1
                inner[-1] += duration

        return wrapper

    def clear(self) -> None:
        for figures in self.figures.values():
            figures.calls = figures.nanoseconds = 0

    def cost(self, calls: int = 20_000) -> float:
        """Return the cost of timing one call in nanoseconds, which counts to the caller's layer."""
        # Use another stack, so that these calls are not counted.
        timers = Timers()
        timed, began = timers.timed("nothing", lambda: None), perf_counter_ns()
        for _ in range(calls):
            timed()
        return (perf_counter_ns() - began - timers.figures["nothing"].nanoseconds) / calls


def wrap(timers: Timers, layer: str, name: str) -> Callable[[], None]:
    """Time `module:function` or `module:Class.method` as part of a layer. Return a function that removes the timer.

    A function is also replaced in modules that import it by name. Raise TimerError if the function does not exist.
    """
    module_name, _, path = name.partition(":")
    *owners, attribute = path.split(".")
    try:
        owner = import_module(module_name)
        for each in owners:
            owner = getattr(owner, each)
        # Read from the class dictionary, so that static and class methods keep their kind.
        function = inspect.getattr_static(owner, attribute)
    except (ImportError, AttributeError) as error:
        raise TimerError(f"{name}, which the layer “{layer}” is timed by, is not there any more: {error}") from error
    if isinstance(function, staticmethod | classmethod):
        timed = type(function)(timers.timed(layer, function.__func__))
    elif callable(function):
        timed = timers.timed(layer, function)
    else:
        raise TimerError(f"{name}, which the layer “{layer}” is timed by, is no function")
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


MISSING = object()


def replace(function: Callable, replacement: Callable) -> Iterable[tuple[object, str]]:
    """Replace a function in all modules that import it. Yield each module and the name of the function in it."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is function:
                setattr(module, name, replacement)
                yield module, name

# SPDX-License-Identifier: Apache-2.0
"""Names, steps and windows from Python: the C API of libtfprof.so (tfprof.h) in a script's own words.

    import tfprof

    for batch in tfprof.steps(loader):          # a step each; TFPROF_WINDOW=step:10-15 records these alone
        with tfprof.range("forward"):
            ...

    @tfprof.range("augment")                    # also for coroutine functions
    def augment(image): ...

    model.fit(data, callbacks=[tfprof.keras_callback()])

Rule: without the library every call does nothing and costs a microsecond at most; nothing here prints, raises or starts a
thread. Python 3.6 and newer; no package is needed. Put the file beside the script, or its folder on PYTHONPATH.
"""
import ctypes
import functools
import gc
import inspect
import sys

__all__ = ["begin", "end", "is_there", "keras_callback", "mark", "pop", "push", "range", "start", "step", "steps", "stop", "watch_gc"]

try:
    _process = ctypes.PyDLL(None)  # keeps the GIL: the calls are shorter than letting go of it
except OSError:
    _process = None


def _find(name, result=None, *arguments):
    function = getattr(_process, "tfprof_api_" + name, None)
    if function is not None:
        function.restype = result
        function.argtypes = arguments
    return function


_start = _find("start")
_stop = _find("stop")
_step = _find("step", None, ctypes.c_uint64)
_push = _find("push", None, ctypes.c_char_p)
_pop = _find("pop")
_begin = _find("begin", ctypes.c_uint64, ctypes.c_char_p)
_end = _find("end", None, ctypes.c_uint64)
_mark = _find("mark", None, ctypes.c_char_p)


def _text(name):
    """The bytes of a name; one that cannot be encoded is shown with replacements, one with a zero byte ends there."""
    return str(name).encode("utf-8", "replace")


def is_there():
    """Whether libtfprof.so is loaded in this process."""
    return _push is not None


def start():
    """Opens the capture window now."""
    if _start is not None:
        _start()


def stop():
    """Closes the capture window now."""
    if _stop is not None:
        _stop()


_last_step = 0


def step(number=None):
    """A step begins; without a number they are counted from 1."""
    global _last_step
    _last_step = _last_step + 1 if number is None else int(number)
    if _step is not None:
        _step(_last_step & 0xffffffffffffffff)


def steps(iterable, first=1):
    """The items of an iterable, a step each: it begins when the item is there; the wait for it is the range "input"."""
    number = first
    iterator = iter(iterable)
    while True:
        push("input")
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            pop()
        step(number)
        yield item
        number += 1


def push(name):
    """A range begins on this thread, inside those that are open; pop() ends it."""
    if _push is not None:
        _push(_text(name))


def pop():
    """The innermost range of this thread ends."""
    if _pop is not None:
        _pop()


def begin(name):
    """A range that need not nest begins; end() with what this returns ends it, on any thread."""
    return _begin(_text(name)) if _begin is not None else 0


def end(number):
    """Ends the range that begin() returned."""
    if _end is not None:
        _end(number)


def mark(name):
    """This moment has a name."""
    if _mark is not None:
        _mark(_text(name))


def _collected(phase, info):
    if phase == "start":
        push("gc %d" % info["generation"])
    else:
        pop()


def watch_gc():
    """From here on each pause by the garbage collector is a range: "gc 0", "gc 1", "gc 2", by generation."""
    if _push is not None and _collected not in gc.callbacks:
        gc.callbacks.append(_collected)


class range:
    """A named range: a context manager (`with` and `async with`), and a decorator of functions and coroutine functions.

    `with` nests on its thread. `async with` and decorated coroutines do not: what runs meanwhile is not inside them, so they
    are ranges of the process.
    """

    def __new__(cls, name):
        if callable(name):  # @tfprof.range without a name
            return _wrapped(_text(getattr(name, "__qualname__", repr(name))), name)
        return super().__new__(cls)

    def __init__(self, name):
        self._name = _text(name)
        self._open = []

    def __enter__(self):
        if _push is not None:
            _push(self._name)
        return self

    def __exit__(self, *_):
        if _pop is not None:
            _pop()

    async def __aenter__(self):
        self._open.append(_begin(self._name) if _begin is not None else 0)
        return self

    async def __aexit__(self, *_):
        if _end is not None:
            _end(self._open.pop())

    def __call__(self, function):
        return _wrapped(self._name, function)


def _wrapped(name, function):
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def run_async(*arguments, **named):
            number = _begin(name) if _begin is not None else 0
            try:
                return await function(*arguments, **named)
            finally:
                if _end is not None:
                    _end(number)
        return run_async

    @functools.wraps(function)
    def run(*arguments, **named):
        if _push is None:
            return function(*arguments, **named)
        _push(name)
        try:
            return function(*arguments, **named)
        finally:
            _pop()
    return run


def keras_callback():
    """A Keras callback: a step and a range for each batch of fit(), a range for each epoch and for validation."""
    keras = sys.modules.get("keras")
    if keras is None:
        import keras
    base = keras.callbacks.Callback

    class Steps(base):
        """Made by tfprof.keras_callback()."""

        def on_epoch_begin(self, epoch, logs=None):
            push("epoch")

        def on_epoch_end(self, epoch, logs=None):
            pop()

        def on_train_batch_begin(self, batch, logs=None):
            step()
            push("train batch")

        def on_train_batch_end(self, batch, logs=None):
            pop()

        def on_test_begin(self, logs=None):
            push("validation")

        def on_test_end(self, logs=None):
            pop()

    return Steps()

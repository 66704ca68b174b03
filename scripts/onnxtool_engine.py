"""What the engine scripts for `onnxtool parity` share: the contract's command line, its files and its exit codes.

An engine is a program onnxtool-engine-NAME beside this file that calls main(). Values are numpy arrays, lists of values, dicts,
or None for an empty optional. It is to be imported before any package: ONNXTOOL_PYTHON may name another interpreter that
has them, which is started instead.
"""
import argparse
import json
import os
import sys


def restart():
    """Goes on in the interpreter that ONNXTOOL_PYTHON names, where this is another one."""
    python = os.environ.get("ONNXTOOL_PYTHON")
    if python and os.path.abspath(python) != sys.executable and "ONNXTOOL_ENGINE_AGAIN" not in os.environ:
        os.environ["ONNXTOOL_ENGINE_AGAIN"] = "1"
        try:
            os.execv(python, [python, *sys.argv])
        except OSError as error:
            fail(4, f"ONNXTOOL_PYTHON={python}: {error.strerror}")


def fail(code, text):
    """Exit codes are onnxtool's: 2 usage, 3 bad input, 4 not supported, 5 out of memory."""
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(code)


def lacks(missing):
    fail(4, f"{missing}: set ONNXTOOL_PYTHON to an interpreter that has it")


restart()
try:
    import numpy as np
except ImportError as missing_package:
    lacks(missing_package)

MISSING = object()
OPTIONS = {"onnxruntime": ("providers", "optimization", "threads", "config"), "openvino": ("device", "properties"),
           "tensorrt": ("fp16", "tf32", "workspace_bytes")}


def put(arrays, name, value):
    """The arrays that stand for a value, as `onnxtool run -o X.npz` names them: NAME, NAME[0], NAME.keys and NAME.values, NAME.none."""
    if value is None:
        arrays[name + ".none"] = np.zeros(0, np.float32)
    elif isinstance(value, dict):
        arrays[name + ".keys"] = np.array(list(value))
        arrays[name + ".values"] = np.array(list(value.values()), getattr(next(iter(value.values()), None), "dtype", np.float32))
    elif isinstance(value, (list, tuple)):
        for i, element in enumerate(value):
            put(arrays, f"{name}[{i}]", element)
        if not value:
            arrays[name + "[]"] = np.zeros(0, np.float32)
    else:
        value = np.asarray(value)
        arrays[name] = value.astype(str) if value.dtype == object else value


def take(arrays, name):
    """The value that arrays of that name stand for: put() the other way round; MISSING where there are none."""
    if name in arrays:
        return arrays[name]
    if name + ".keys" in arrays:
        return dict(zip(arrays[name + ".keys"].tolist(), arrays[name + ".values"].tolist()))
    if name + ".none" in arrays:
        return None
    if not any(key.startswith((name + "[", name + ".some")) for key in arrays):
        return MISSING
    held = take(arrays, name + ".some")
    if held is not MISSING:
        return held
    elements = []
    while (element := take(arrays, f"{name}[{len(elements)}]")) is not MISSING:
        elements.append(element)
    return elements if elements or name + "[]" in arrays else MISSING


def take_all(arrays, names):
    values = {name: take(arrays, name) for name in names}
    return {name: value for name, value in values.items() if value is not MISSING}


def read_options(text):
    """A misspelled option that is silently left out would be a run of something else. What is another engine's may be there."""
    try:
        options = json.loads(text)
    except ValueError as error:
        fail(2, f"options: {error}")
    if not isinstance(options, dict):
        fail(2, f"options are a JSON object, not {text}")
    engine = os.path.basename(sys.argv[0]).removeprefix("onnxtool-engine-")
    for name in options:
        if not any(name in known for known in OPTIONS.values()):
            fail(2, f"there is no option {name!r}: {', '.join(OPTIONS[engine]) if engine in OPTIONS else 'none at all'}")
    return options


def read_arrays(path):
    try:
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        fail(3, error)


def main(doc, version, run, code_of=lambda error: 3):
    """run(model path, arrays, names, options) gives values by name; names is empty where the model's outputs are wanted.
    code_of(error) is the exit code for what run raises."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("results")
    parser.add_argument("--outputs", default="", help="names parted by line ends")
    parser.add_argument("--options", default="{}", help="JSON")
    arguments = parser.parse_args()
    options, arrays = read_options(arguments.options), read_arrays(arguments.inputs)
    names = [n for n in arguments.outputs.split("\n") if n]
    try:
        values = run(arguments.model, arrays, names, options)
    except MemoryError as error:
        fail(5, error)
    except Exception as error:  # engines' exceptions have no common class
        fail(code_of(error), f"{type(error).__name__}: {error}")
    made = {}
    for name, value in values.items():
        put(made, name, value)
    np.savez(arguments.results, **made)

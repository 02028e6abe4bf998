"""JSON as git and a reader like it: one entry a line.

What opens is said by a layout, a tree of keys: in {"runs": {"rows": {}}} each run begins a line,
and each row in it; all else stands on the line of what holds it.
"""

import json


def _flat(value):
    return json.dumps(value, ensure_ascii=False)


def _entries(value, layout, indent):
    """A list or an object, each of its entries on a line."""
    deeper = indent + " "
    if isinstance(value, dict):
        lines = [f"{_flat(key)}: {_text(of, layout, deeper)}" for key, of in value.items()]
    else:
        lines = [_text(of, layout, deeper) for of in value]
    opens, closes = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([opens, ",\n".join(deeper + line for line in lines), indent + closes])


def _text(value, layout, indent):
    opened = [key for key in layout if isinstance(value, dict) and value.get(key)]
    if not opened:
        return _flat(value)
    head = {key: of for key, of in value.items() if key not in opened}
    parts = [_flat(head)[1:-1]] if head else []
    parts += [f"{_flat(key)}: {_entries(value[key], layout[key], indent)}" for key in opened]
    return "{" + f",\n{indent}".join(parts) + "}"


def text(value, layout):
    return _text(value, layout, "") + "\n"

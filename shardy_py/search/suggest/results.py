"""The results of @main as further tensors: the next values of arguments, and groups of others.

A step of training returns the weights and the state of the optimizer: these results get the shardings of the
arguments that they replace, so that a step can follow a step. Not here: values inside (`points.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardy_py.search.suggest.roles import AnnotatedTensor, DimensionClasses, Returned, Roles

_MOST = 8
"""Groups of results that are annotated at most: those of most bytes."""


def with_results(
    roles: Roles, number: DimensionClasses, results: Sequence[AnnotatedTensor], donated: Mapping[int, int]
) -> Roles:
    """Returns the roles with the results.

    donated: the argument in whose memory the program puts a result, by the number of the result.
    """
    rows = [
        Returned(each.name, each.path, each.label, each.slot, each.shape, each.element) for each in results
    ]
    for result, argument in next_values(roles, number, results, donated).items():
        rows[result] = replace(rows[result], of=argument)
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, (row, each) in enumerate(zip(rows, results, strict=True)):
        if row.of is None and each.shape and each.slot:
            kinds = tuple(map(roles.kind, number.of(each.slot, len(each.shape))))
            groups[each.path, each.shape, each.element, kinds].append(index)
    largest = sorted(groups.values(), key=lambda group: -sum(results[i].bytes for i in group))[:_MOST]
    tensors, classes = [*roles.tensors], [*roles.classes]
    for group in largest:
        first = results[group[0]]
        names = tuple((results[i].name, "") for i in group)
        for index in group:
            rows[index] = replace(rows[index], of=len(tensors))
        tensors.append(replace(first, values=names, is_result=True))
        classes.append(number.of(first.slot, len(first.shape)))
    return replace(roles, tensors=tuple(tensors), classes=tuple(classes), returned=tuple(rows))


def next_values(
    roles: Roles, number: DimensionClasses, results: Sequence[AnnotatedTensor], donated: Mapping[int, int]
) -> dict[int, int]:
    """Returns by result the argument whose next value it is.

    That is the argument that is donated for it; else, of weights and state of the optimizer, results of as
    many arguments with equal types and classes of dimensions are these arguments' next values, in order.
    """
    tensors = roles.tensors[: roles.arguments]
    found = {
        result: argument
        for result, argument in donated.items()
        if (tensors[argument].shape, tensors[argument].element)
        == (results[result].shape, results[result].element)
    }
    taken = {*found.values()}
    Key = tuple[object, ...]
    old, new = defaultdict[Key, list[int]](list), defaultdict[Key, list[int]](list)
    for index, tensor in enumerate(tensors):
        if index not in taken and tensor.shape and not roles.is_data(index):
            old[tensor.shape, tensor.element, roles.classes[index]].append(index)
    for index, each in enumerate(results):
        if index not in found and each.slot:
            new[each.shape, each.element, number.of(each.slot, len(each.shape))].append(index)
    for key, indices in new.items():
        if len(old[key]) == len(indices):
            found |= zip(indices, old[key], strict=True)
    return found

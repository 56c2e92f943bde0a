"""What follows from the inputs of nodes is the same for an edited body as for one that is made anew."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole


def _random_body(random: Random) -> DeviceBody:
    nodes = {0: DeviceNode(NodeRole.ARGUMENT)}
    for number in range(1, 30):
        count = random.choice((1, 1, 1, 2))
        nodes[number] = DeviceNode(NodeRole.OP, tuple(random.randrange(number) for _ in range(count)))
    return DeviceBody(nodes, (0,), (29, random.randrange(30), 28))


@pytest.mark.parametrize("seed", range(30))
def test_nodes_that_read_what_came_further_before(seed: int) -> None:
    random = Random(seed)
    body, skipped = _random_body(random), 0
    for _ in range(6):
        new: dict[int, DeviceNode] = {}
        for number in body.order:
            (source, *others) = body.nodes[number].inputs or (-1,)
            is_chained = seed % 2 or body.only_user(source) == number
            if source > 0 and not others and source not in new and is_chained and random.random() < 0.4:
                new[number] = replace(body.nodes[number], inputs=body.nodes[source].inputs)
        assert body.users
        is_alone = all(body.only_user(body.nodes[number].inputs[0]) == number for number in new)
        body = body.edited(new, {})
        assert not is_alone or not new or "order" in vars(body)
        skipped += is_alone and bool(new)
        fresh = DeviceBody(body.nodes, body.arguments, body.results)
        assert body.order == fresh.order
        assert body.users == fresh.users
    assert skipped or seed % 2

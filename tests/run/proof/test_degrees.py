"""The bound of exact proofs against tiny fields, in which every input and every function can be tried."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.run.proof.degrees import degree_of
from shardy_py.run.proof.exactness import Exactness

Term = Any
"""A number, "x", "y", ("f", term), or (op, term, term)."""
Polynomial = dict[tuple[Any, ...], int]
"""From sorted variables to coefficients; an application is a variable, named by its argument."""
OPS = ("add", "subtract", "multiply")


def random_term(rng: random.Random, depth: int, variables: str, functions: int) -> Term:
    if not depth or rng.random() < 0.15:
        return rng.choice([*variables, *variables, rng.randrange(4)])
    if functions and rng.random() < 0.4:
        return "f", random_term(rng, depth - 1, variables, functions - 1)
    return rng.choice(OPS), *(random_term(rng, depth - 1, variables, 0) for _ in range(2))


def program(terms: tuple[Term, Term]) -> str:
    """A program that returns both."""
    lines: list[str] = []

    def value(term: Term) -> str:
        if isinstance(term, str):
            return f"%{term}"
        if isinstance(term, int):
            text = f"stablehlo.constant dense<{term}.0>"
        elif term[0] == "f":
            text = f"stablehlo.tanh {value(term[1])}"
        else:
            text = f"stablehlo.{term[0]} {value(term[1])}, {value(term[2])}"
        lines.append(f"  %v{len(lines)} = {text} : tensor<f32>")
        return f"%v{len(lines) - 1}"

    results = ", ".join(map(value, terms))
    return "\n".join(
        [
            "func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {",
            *lines,
            f"  return {results} : tensor<f32>, tensor<f32>\n}}",
        ]
    )


def polynomial(term: Term, prime: int) -> Polynomial:
    """The canonical form: terms that are equal by the laws of rings and congruence have one."""
    if isinstance(term, int):
        return {(): term % prime} if term % prime else {}
    if isinstance(term, str):
        return {(term,): 1}
    if term[0] == "f":
        argument = tuple(sorted(polynomial(term[1], prime).items(), key=repr))
        return {(("f", argument),): 1}
    left, right = (polynomial(each, prime) for each in term[1:])
    found: Polynomial = {}
    if term[0] == "multiply":
        for (a, m), (b, n) in product(left.items(), right.items()):
            key = tuple(sorted(a + b, key=repr))
            found[key] = (found.get(key, 0) + m * n) % prime
    else:
        sign = 1 if term[0] == "add" else -1
        for key in left.keys() | right.keys():
            found[key] = (left.get(key, 0) + sign * right.get(key, 0)) % prime
    return {key: number for key, number in found.items() if number}


def applications(polynomials: list[Polynomial]) -> set[Any]:
    """Those in a difference, with those in their arguments."""
    found: set[Any] = set()
    for each in polynomials:
        for variable in {v for key in each for v in key if not isinstance(v, str)}:
            found |= {variable, *applications([dict(variable[1])])}
    return found


def value_of(
    term: Term, prime: int, inputs: dict[str, int], fresh: tuple[int, ...], known: dict[int, int]
) -> int:
    """The value of a term. known: those of the function; at its next new point it is the next of `fresh`."""
    if isinstance(term, int):
        return term % prime
    if isinstance(term, str):
        return inputs[term]
    operands = [value_of(each, prime, inputs, fresh, known) for each in term[1:]]
    if term[0] == "f":
        if operands[0] not in known:
            known[operands[0]] = fresh[len(known)]
        return known[operands[0]]
    a, b = operands
    return {"add": a + b, "subtract": a - b, "multiply": a * b}[term[0]] % prime


def agreement(terms: tuple[Term, Term], prime: int, variables: str, points: int) -> float:
    """The probability that both are equal, over all inputs and all values of a function at new points."""
    equal = total = 0
    for numbers in product(range(prime), repeat=len(variables)):
        inputs = dict(zip(variables, numbers, strict=True))
        for fresh in product(range(prime), repeat=points):
            known: dict[int, int] = {}
            first, second = (value_of(term, prime, inputs, fresh, known) for term in terms)
            total += 1
            equal += first == second
    return equal / total


@pytest.mark.parametrize(("prime", "variables", "functions"), [(19, "xy", 0), (11, "x", 1)])
def test_no_more_inputs_agree_than_the_bound_says(prime: int, variables: str, functions: int) -> None:
    rng = random.Random(prime)
    below_one = largest = 0.0
    for _ in range(24):
        terms = (
            random_term(rng, 2, variables, functions),
            random_term(rng, 2, variables, functions),
        )
        difference = polynomial(("subtract", *terms), prime)
        degree = degree_of(parse_module(program(terms)))
        assert degree is not None
        assert all(len(key) <= degree for key in difference)
        chance = agreement(terms, prime, variables, 2 * functions)
        if not difference:
            assert chance == 1.0
            continue
        m = len(applications([difference]))
        bound = (m * (m - 1) // 2 + 1) * degree / prime
        assert chance <= bound, terms
        below_one += bound < 1
        largest = max(largest, chance / bound)
    assert below_one > 10  # what is above says nothing
    assert largest >= 0.5


def test_the_printed_bound_is_that_of_the_least_prime_and_of_two_applications() -> None:
    error = Exactness(3, 3, degree=6).error
    assert error == 2 * 6 / 2**30 + 152 / 2**28

"""Which path of an entry is taken next."""

from __future__ import annotations

import pytest

from streamsan.cuda_source.agenda import MOST_CONTRARY, MOST_FRUITLESS, Agenda, Alternative


class Leads:
    """A goal with so many calls that no path has come to."""

    def __init__(self, calls=1):
        self.calls = calls

    def has_new(self):
        return self.calls > 0

    def count_new(self):
        return self.calls


def against(number, calls):
    return Alternative((), Leads(calls), against=frozenset([number]), place=number)


def begun(*alternatives):
    agenda = Agenda()
    first = agenda.next()
    agenda.came_to_new(True)
    agenda.add(first, list(alternatives))
    return agenda


def test_what_goes_against_the_known_comes_last_while_paths_come_to_something():
    agenda = begun(against(0, 9), *(Alternative((True,) * n, Leads()) for n in range(1, 9)))
    taken = []
    while (turn := agenda.next()) is not None:
        taken.append(bool(turn.against))
        agenda.came_to_new(True)
    assert taken == [False] * 8 + [True]


def test_it_is_due_when_paths_come_to_nothing_that_with_most_calls_first():
    agenda = begun(against(0, 2), against(1, 5), *(Alternative((True,) * n, Leads()) for n in range(1, 9)))
    taken = []
    while (turn := agenda.next()) is not None:
        taken.append(sorted(turn.against))
        agenda.came_to_new(False)
    assert taken == [[]] * MOST_FRUITLESS + [[1], [0]] + [[]] * (8 - MOST_FRUITLESS)


@pytest.mark.parametrize("count", [MOST_CONTRARY, MOST_CONTRARY + 3])
def test_few_paths_go_against_the_known(count):
    agenda = begun(*(against(number, 1) for number in range(count)))
    taken = 0
    while agenda.next() is not None:
        agenda.came_to_new(False)
        taken += 1
    assert taken == MOST_CONTRARY

"""Which path of an entry is taken next."""

from __future__ import annotations

import pytest

from streamsan.cuda_source.agenda import (
    MOST_ALIKE,
    MOST_AT_A_BRANCH,
    MOST_CONTRARY,
    MOST_FRUITLESS,
    Agenda,
    Alternative,
)


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


def turns(*places):
    return [Alternative((True,) * n, None, place=place, branch=place[-1:]) for n, place in enumerate(places, 1)]


def taken_of(agenda, *, comes_to_new=False):
    found = []
    while (turn := agenda.next()) is not None:
        found.append(turn.place)
        agenda.came_to_new(comes_to_new)
    return found


def test_a_thrifty_one_turns_off_at_a_loop_s_branch_a_few_times_where_that_was_in_vain():
    agenda = begun(*turns(*[(1, 2)] * 9, (1, 3)))
    agenda.be_thrifty()
    assert taken_of(agenda) == [(1, 2)] * MOST_ALIKE + [(1, 3)]
    assert agenda.leaves_out


def test_a_function_s_branch_is_turned_off_in_each_of_its_calls_up_to_a_number():
    places = [(call, 2) for call in range(MOST_AT_A_BRANCH + 5)]
    agenda = begun(*turns(*places))
    agenda.be_thrifty()
    assert taken_of(agenda) == places[:MOST_AT_A_BRANCH]


def test_what_comes_to_something_new_is_taken_again():
    agenda = begun(*turns(*[(1, 2)] * 9))
    agenda.be_thrifty()
    assert taken_of(agenda, comes_to_new=True) == [(1, 2)] * 9
    assert not agenda.leaves_out


def test_before_that_every_path_is_taken():
    agenda = begun(*turns(*[(1, 2)] * 9))
    assert taken_of(agenda) == [(1, 2)] * 9
    assert not agenda.leaves_out


def test_what_is_given_up_was_left_out():
    agenda = begun(*turns((1, 2), (1, 3)))
    agenda.give_up(everything=True)
    assert agenda.is_empty
    assert agenda.leaves_out

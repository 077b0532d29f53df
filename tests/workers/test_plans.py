"""Whose plan is whose, and which models it allows."""

import pytest

from infra.settings import PlanSettings
from workers.plans import NO_PLANS, Plan, Plans, plan_of, plans_from


def plans(**people: list[str]) -> Plans:
    return plans_from({name: PlanSettings(people=tuple(ids)) for name, ids in people.items()})


@pytest.mark.parametrize(
    ("user_id", "owner_id", "name"),
    [
        ("7", "1", "family"),
        ("8", "1", "free"),
        ("1", "1", None),
        ("local:jo", "1", "free"),
        ("local:jo", "", None),
        ("8", "", "free"),
    ],
    ids=["named", "everybody else", "the owner", "at the machine of an owner", "nobody paired yet", "a stranger"],
)  # fmt: skip
def test_the_star_is_everybody_but_the_owner_whom_no_plan_names(
    user_id: str, owner_id: str, name: str | None
) -> None:
    plan = plan_of(plans(family=["7"], free=["*"]), user_id, owner_id)

    assert (plan.name if plan else None) == name


def test_an_owner_who_is_named_has_a_plan_too() -> None:
    plan = plan_of(plans(mine=["1"]), "1", "1")

    assert plan is not None
    assert plan.name == "mine"


def test_a_plan_of_nobody_does_nothing() -> None:
    assert plans(free=[]) == NO_PLANS
    assert plan_of(plans(free=[]), "42", "1") is None


def test_a_limit_that_is_not_set_is_no_limit_of_0() -> None:  # C54
    (unset, zero) = (
        plan_of(plans_from({"x": PlanSettings(people=("*",), usd_per_month=usd)}), "42", "1")
        for usd in (None, 0)
    )

    assert unset is not None
    assert zero is not None
    assert (unset.microusd_per_month, zero.microusd_per_month) == (None, 0)


@pytest.mark.parametrize(
    ("written", "model", "allowed"),
    [("a", "a", True), ("openrouter:a/b", "a/b", True), ("a", "b", False), ("a", "offline", True)],
)
def test_a_plan_allows_the_models_it_lists(written: str, model: str, *, allowed: bool) -> None:
    assert Plan("x", models=frozenset({written})).allows(model) is allowed


@pytest.mark.parametrize(
    ("found", "any_plan"), [(NO_PLANS, False), (plans(a=["7"]), True), (plans(a=["*"]), True)]
)
def test_plans_know_whether_anybody_has_one(found: Plans, *, any_plan: bool) -> None:
    assert found.any is any_plan

"""Who may use how much: the plans of the settings. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.settings import PlanSettings
from llm.candidates import OFFLINE_MODEL
from llm.pricing import PREFIXES

EVERYBODY = "*"
LOCAL = "local:"
"""Ids of people who sit at the machine begin with it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one person may use; None: no limit, which is not a limit of 0."""

    name: str
    messages_per_day: int | None = None
    microusd_per_month: int | None = None
    models: frozenset[str] = frozenset()
    """As the settings write them; empty: all."""

    def allows(self, model: str) -> bool:
        """model: as it is called, without a prefix. The offline model, which speaks for koi itself, always."""
        if not self.models or model == OFFLINE_MODEL:
            return True
        return any(prefix + model in self.models for prefix in PREFIXES)


@dataclass(frozen=True, slots=True)
class Plans:
    """All plans by the people they name."""

    by_person: Mapping[str, Plan] = field(default_factory=dict[str, Plan])
    everybody: Plan | None = None
    """For those whom no plan names."""

    @property
    def any(self) -> bool:
        return bool(self.by_person) or self.everybody is not None


NO_PLANS = Plans()


def plans_from(settings: Mapping[str, PlanSettings]) -> Plans:
    """infra.settings made sure that nobody is in two."""
    by_person: dict[str, Plan] = {}
    for name, written in settings.items():
        usd = written.usd_per_month
        plan = Plan(
            name,
            written.messages_per_day,
            None if usd is None else round(usd * 1_000_000),
            frozenset(written.models),
        )
        by_person |= dict.fromkeys(written.people, plan)
    return Plans(by_person, by_person.pop(EVERYBODY, None))


def plan_of(plans: Plans, user_id: str, owner_id: str) -> Plan | None:
    """None: no limits. The owner has a plan only if one names them; so has, before anybody paired (owner_id ""), who
    sits at the machine.
    """
    if named := plans.by_person.get(user_id):
        return named
    is_owner = user_id == owner_id if owner_id else user_id.startswith(LOCAL)
    return None if is_owner else plans.everybody

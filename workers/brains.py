"""Who answers for which bot: chains of models, from the settings."""

from dataclasses import dataclass, field

from infra.redis_port import RedisPort
from infra.settings import Settings
from llm.candidates import Service
from llm.chain import Chain, build_chain
from llm.provider import Provider
from llm.routing import Models
from workers.services import Brain


@dataclass(frozen=True, slots=True)
class Brains:
    """One for the house, and one for each bot that has models or a persona of its own."""

    house: Brain
    by_bot: dict[str, Brain]
    chains: tuple[Chain, ...]
    """Each once, to be prepared and closed; also those that only former settings named."""
    by_models: dict[tuple[str, ...], Chain] = field(default_factory=dict[tuple[str, ...], Chain])
    providers: dict[Service, Provider] = field(default_factory=dict[Service, Provider])

    @property
    def models(self) -> list[tuple[str, str]]:
        """Service and id of every model that may be asked, each once."""
        asked = [candidate for chain in self.chains for candidate in chain.candidates]
        return list(dict.fromkeys((candidate.service.name, candidate.model) for candidate in asked))


def build_brains(settings: Settings, redis: RedisPort | None = None, before: Brains | None = None) -> Brains:
    """redis: what the processes share their circuit breakers through; None: none. before: those of the same settings but
    for the bots, whose chains and connections go on: turns may be using them.

    Raises: NotConfigured: no service offers a model.
    """
    builder = _Builder(settings, redis, before)
    house = builder.brain((), "", configured=bool(settings.models))
    by_bot = {
        bot.name: builder.brain(bot.models, bot.persona, configured=bool(settings.models or bot.models))
        for bot in settings.bots
    }
    chains = builder.chains
    return Brains(house, by_bot, tuple(chains.values()), chains, builder.providers)


class _Builder:
    """Makes each chain once; all share their connections."""

    def __init__(self, settings: Settings, redis: RedisPort | None, before: Brains | None) -> None:
        self.settings = settings
        self.redis = redis
        self.chains = dict(before.by_models) if before else {}
        self.providers = dict(before.providers) if before else {}

    def brain(self, own: tuple[str, ...], persona: str, *, configured: bool) -> Brain:
        """own: a bot's models; what people tell such a bot reaches no other, not even the light one of the house."""
        strong, small = own or self.settings.models, self.settings.light_model
        chain, light = self._chain(strong), None
        if strong and small and (not own or small in own):
            light = self._chain(tuple(dict.fromkeys((small, *strong))))
        names = tuple(candidate.model for candidate in chain.candidates)
        models = Models(names, light.candidates[0].model if light else "")
        asked = [*chain.candidates, *(light.candidates if light else ())]
        readers = tuple(dict.fromkeys(filter(None, (one.service.called for one in asked))))
        return Brain(chain, models, persona, configured, light, readers)

    def _chain(self, models: tuple[str, ...]) -> Chain:
        if models not in self.chains:
            self.chains[models] = build_chain(
                self.settings, models, redis=self.redis, providers=self.providers
            )
        return self.chains[models]

import pytest
from pydantic import SecretStr

from infra.settings import Settings
from llm.candidates import (
    ANTHROPIC_URL,
    OFFLINE,
    Candidate,
    Capabilities,
    anthropic_service,
    candidates_from,
)
from llm.errors import NotConfigured

OPENROUTER_URL = "https://openrouter.ai/api"
SONNET = "claude-sonnet-5-5"
ROUTED = "anthropic/claude-sonnet-5.5"


def settings(*models: str, key: str = "", url: str = "", openrouter: str = "") -> Settings:
    return Settings(
        models=models,
        anthropic_api_key=SecretStr(key),
        anthropic_base_url=url,
        openrouter_api_key=SecretStr(openrouter),
    )


def chosen(given: Settings, models: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    return [(each.service.name, each.service.base_url, each.model) for each in candidates_from(given, models)]


def test_without_any_setting_the_offline_model_answers() -> None:
    assert candidates_from(Settings()) == (Candidate(OFFLINE, "offline"),)


def test_with_anthropics_key_the_models_are_anthropics() -> None:
    assert chosen(settings(SONNET, "claude-haiku-5-5", key="k")) == [
        ("anthropic", ANTHROPIC_URL, SONNET),
        ("anthropic", ANTHROPIC_URL, "claude-haiku-5-5"),
    ]


def test_a_base_url_needs_no_key() -> None:
    assert chosen(settings("qwen3:8b", url="http://127.0.0.1:11434/")) == [
        ("compatible", "http://127.0.0.1:11434", "qwen3:8b")
    ]


def test_with_openrouters_key_alone_the_models_are_openrouters() -> None:
    assert chosen(settings(ROUTED, openrouter="k")) == [("openrouter", OPENROUTER_URL, ROUTED)]


def test_openrouter_may_be_at_another_address() -> None:
    given = Settings(
        models=(ROUTED,), openrouter_api_key=SecretStr("k"), openrouter_base_url="http://127.0.0.1:9/api/v1/"
    )

    assert chosen(given) == [("openrouter", "http://127.0.0.1:9/api", ROUTED)]


def test_with_both_keys_a_slash_in_the_id_means_openrouter() -> None:
    assert chosen(settings(SONNET, ROUTED, key="k", openrouter="r")) == [
        ("anthropic", ANTHROPIC_URL, SONNET),
        ("openrouter", OPENROUTER_URL, ROUTED),
    ]


def test_beside_a_compatible_service_a_prefix_means_openrouter() -> None:
    given = settings("Qwen/Qwen3-8B", f"openrouter:{ROUTED}", url="http://h:8000", openrouter="r")

    assert chosen(given) == [
        ("compatible", "http://h:8000", "Qwen/Qwen3-8B"),
        ("openrouter", OPENROUTER_URL, ROUTED),
    ]


def test_a_bots_own_models_replace_the_chain() -> None:
    assert chosen(settings(SONNET, key="k"), ("claude-haiku-5-5",)) == [
        ("anthropic", ANTHROPIC_URL, "claude-haiku-5-5")
    ]


def test_a_model_named_twice_is_asked_once() -> None:
    assert len(candidates_from(settings(SONNET, SONNET, key="k"))) == 1


def test_offline_may_be_asked_for_by_name_beside_a_key() -> None:
    assert chosen(settings("offline", key="k")) == [("offline", "", "offline")]


@pytest.mark.parametrize(
    ("url", "name", "base_url"),
    [
        ("https://openrouter.ai/api/v1", "openrouter", OPENROUTER_URL),
        ("https://api.anthropic.com/v1/", "anthropic", ANTHROPIC_URL),
        ("http://127.0.0.1:1234/v1", "compatible", "http://127.0.0.1:1234"),
        ("http://127.0.0.1:9/anthropic", "compatible", "http://127.0.0.1:9/anthropic"),
    ],
)
def test_the_base_url_says_which_service_it_is_and_loses_its_version(
    url: str, name: str, base_url: str
) -> None:
    service = anthropic_service(settings(key="k", url=url))

    assert service is not None
    assert (service.name, service.base_url) == (name, base_url)


def test_openrouter_by_base_url_takes_openrouters_key() -> None:
    service = anthropic_service(settings(url="https://openrouter.ai/api", openrouter="r"))

    assert service is not None
    assert service.api_key.get_secret_value() == "r"


def test_of_other_services_only_tools_are_expected() -> None:
    (candidate,) = candidates_from(settings("m", url="http://h:8000"))

    assert candidate.service.can == Capabilities(tools=True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (settings(SONNET), "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL or OPENROUTER_API_KEY is not set"),
        (settings(f"openrouter:{ROUTED}", key="k"), "OPENROUTER_API_KEY is not set"),
        (settings(f"anthropic:{SONNET}", openrouter="r"), "ANTHROPIC_API_KEY"),
        (settings("m", url="http://:11434"), "it must be like"),
    ],
)
def test_a_model_without_a_service_is_told_with_what_is_missing(given: Settings, says: str) -> None:
    with pytest.raises(NotConfigured, match=says):
        candidates_from(given)


def test_keys_do_not_show_when_a_candidate_is_printed() -> None:
    assert "hush" not in repr(candidates_from(settings(SONNET, key="hush")))

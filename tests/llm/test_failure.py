import pytest

from llm.failure import FailureKind, kind_of, limit_tokens_in, names, retry_after_s


def test_a_detail_is_made_of_names_and_of_nothing_that_may_be_text() -> None:
    given = ("overloaded_error", None, 7, "my code is 4711", "x" * 65, "req_011CSHo", "a\nb")

    assert names(*given) == "overloaded_error req_011CSHo"


@pytest.mark.parametrize(
    ("status", "error_type", "kind"),
    [
        (400, "invalid_request_error", "rejected"),
        (401, "authentication_error", "unauthorized"),
        (402, "billing_error", "unpaid"),
        (403, "permission_error", "forbidden"),
        (404, "not_found_error", "unknown_model"),
        (413, "request_too_large", "too_long"),
        (422, "invalid_request_error", "rejected"),
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "server_error"),
        (502, "", "server_error"),
        (503, "", "overloaded"),
        (504, "timeout_error", "timeout"),
        (529, "overloaded_error", "overloaded"),
        (400, "", "rejected"),
        (401, "", "unauthorized"),
        (404, "", "unknown_model"),
        (408, "", "timeout"),
        (429, "", "rate_limited"),
        (529, "", "overloaded"),
        (418, "", "rejected"),
        (599, "", "server_error"),
        (200, "overloaded_error", "overloaded"),
        (200, "rate_limit_error", "rate_limited"),
        (200, "api_error", "server_error"),
        (200, "invalid_request_error", "rejected"),
        (200, "something_new", "server_error"),
    ],
)
def test_an_error_answer_is_known_by_its_type_and_else_by_its_status(
    status: int, error_type: str, kind: FailureKind
) -> None:
    assert kind_of(status, error_type) == kind


@pytest.mark.parametrize(
    "code",
    [
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "linked_organization_billing_unavailable",
    ],
)
def test_a_429_that_means_no_money_is_not_mistaken_for_too_many_requests(code: str) -> None:
    assert kind_of(429, "rate_limit_error", code) == "unpaid"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Your credit balance is too low to access the API", "unpaid"),
        ("anthropic/claud is not a valid model ID", "unknown_model"),
        ("messages: roles must alternate", "rejected"),
    ],
)
def test_a_400_that_means_something_else_is_known_by_its_wording(message: str, kind: FailureKind) -> None:
    assert kind_of(400, "invalid_request_error", message=message) == kind
    assert kind_of(400, message=message) == kind


# Wordings: Anthropic (two), Bedrock, llama.cpp (three), vLLM (three), Ollama, LM Studio, OpenRouter, OpenAI, xAI, Google
TOO_LONG = [
    ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
    (
        "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease input length or "
        "`max_tokens` and try again",
        200_000,
    ),
    ("Input is too long for requested model.", None),
    ("the request exceeds the available context size, try increasing it", None),
    (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        None,
    ),
    ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
    (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, "
        "Please reduce the length of the messages.",
        8192,
    ),
    ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
    ("You passed 8193 input tokens. However, the model's context length is only 8192 tokens", 8192),
    ("input length exceeds the context length", None),
    ("the number of tokens to keep from the initial prompt is greater than the context length", None),
    (
        "This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens",
        163_840,
    ),
    ("Your input exceeds the context window of this model", None),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens", 131_072),
    ("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)", 1_048_575),
]


@pytest.mark.parametrize(("message", "limit"), TOO_LONG)
@pytest.mark.parametrize(
    ("status", "error_type"),
    [(400, "invalid_request_error"), (400, ""), (400, "BadRequestError"), (422, ""), (500, "api_error")],
)
def test_every_wording_of_too_long_is_known_and_its_limit_read(
    status: int, error_type: str, message: str, limit: int | None
) -> None:
    assert kind_of(status, error_type, message=message) == "too_long"
    assert limit_tokens_in(message) == limit


@pytest.mark.parametrize("status", [400, 500])
def test_llama_cpp_has_a_type_of_its_own_for_too_long(status: int) -> None:
    assert kind_of(status, "exceed_context_size_error") == "too_long"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "90"}, 90.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        (
            {"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"},
            30.0,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_from_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds

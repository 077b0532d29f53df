"""Settings: where they may be written, which wins, and the one line that a person gets for a wrong one."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from infra.settings import BadSetting, Settings, load_settings
from infra.settings_places import key_lines
from infra.settings_sources import FLAT, shown
from infra.settings_types import parse_duration

TOKEN, OTHER_TOKEN = (
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "987654321:AAother-bot_token_of_35_characters_",
)


def load(environ: Mapping[str, str] | None = None, toml: str = "", folder: Path | None = None) -> Settings:
    if folder is None:
        return load_settings(environ or {}, None)
    (folder / "koi.toml").write_text(toml, "utf-8")
    return load_settings(environ or {}, folder / "koi.toml")


def refusal(environ: Mapping[str, str] | None = None, toml: str = "", folder: Path | None = None) -> str:
    with pytest.raises(BadSetting) as caught:
        load(environ, toml, folder)
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.__cause__ is None or TOKEN not in str(caught.value.__cause__)
    return line


def test_without_anything_every_setting_has_its_default() -> None:
    assert load() == Settings()
    assert load().models == ()


def test_the_file_sets_what_it_names(tmp_path: Path) -> None:
    settings = load(
        folder=tmp_path,
        toml='language = "de"\ntelegram_allowed_users = [7, "8"]\n[memory]\nentries = 5\nmax_age = "90m"\n',
    )

    assert (settings.language, settings.telegram_allowed_users) == ("de", ("7", "8"))
    assert (settings.memory.entries, settings.memory.max_age) == (5, timedelta(minutes=90))
    assert settings.memory.last == 5


def test_the_environment_beats_the_file_key_by_key(tmp_path: Path) -> None:
    environ = {"KOI_MEMORY__ENTRIES": "20", "KOI_TURN__DEBOUNCE": "1.5s", "KOI_LANGUAGE": "fr"}

    settings = load(environ, 'language = "de"\n[memory]\nentries = 5\nlast = 4\n', tmp_path)

    assert (settings.memory.entries, settings.memory.last) == (20, 4)
    assert (settings.turn.debounce, settings.language) == (timedelta(seconds=1.5), "fr")


def test_koi_config_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[memory]\nentries = 3\n")

    settings = load_settings({"KOI_CONFIG": str(tmp_path / "mine.toml")}, tmp_path / "koi.toml")

    assert settings.memory.entries == 3


def test_a_file_that_was_named_must_exist_the_default_one_need_not(tmp_path: Path) -> None:
    missing = tmp_path / "koi.toml"

    assert load_settings({}, missing) == Settings()
    with pytest.raises(BadSetting, match="cannot be read: No such file"):
        load_settings({"KOI_CONFIG": str(missing)}, None)


FLAT_EXAMPLES = {
    "TELEGRAM_BOT_TOKEN": (f"{TOKEN}, {OTHER_TOKEN},", (TOKEN, OTHER_TOKEN)),
    "TELEGRAM_ALLOWED_USERS": ("7,8 , 9", ("7", "8", "9")),
    "TELEGRAM_OWNER": ("7", "7"),
    "TELEGRAM_API_BASE": ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
    "TELEGRAM_WEBHOOK_URL": ("https://koi.example", "https://koi.example"),
    "TELEGRAM_WEBHOOK_SECRET": ("s3cret_-", "s3cret_-"),
    "TELEGRAM_WEBHOOK_BIND": ("0.0.0.0:80", "0.0.0.0:80"),
    "ANTHROPIC_API_KEY": ("sk-ant-x", "sk-ant-x"),
    "ANTHROPIC_BASE_URL": ("http://ollama:11434", "http://ollama:11434"),
    "OPENROUTER_API_KEY": ("sk-or-x", "sk-or-x"),
    "OPENROUTER_BASE_URL": ("http://127.0.0.1:9001/", "http://127.0.0.1:9001"),
    "KOI_LIGHT_MODEL": ("small", "small"),
    "REDIS_URL": ("rediss://u:p@h:1/0", "rediss://u:p@h:1/0"),
    "KOI_VALKEY_BIN": ("/usr/bin/valkey-server", "/usr/bin/valkey-server"),
    "KOI_DATA_DIR": ("/data", "/data"),
    "KOI_LANGUAGE": ("de", "de"),
    "KOI_LOG": ("debug", "debug"),
    "TZ": ("Europe/Berlin", "Europe/Berlin"),
    "KOI_DASHBOARD_BIND": ("[::1]:0", "[::1]:0"),
    "KOI_DASHBOARD_PASSWORD": ("pw", "pw"),
    "KOI_DASHBOARD_READER_PASSWORD": ("pw2", "pw2"),
    "KOI_ALERT_EMAIL": ("me@example.org", "me@example.org"),
    "SMTP_URL": ("smtps://u:p@mail", "smtps://u:p@mail"),
    "SMTP_HOST": ("mail", "mail"),
    "SMTP_PORT": ("25", 25),
    "SMTP_USER": ("me", "me"),
    "SMTP_PASSWORD": ("pw", "pw"),
}


def plain(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


@pytest.mark.parametrize("name", FLAT)
def test_every_flat_name_sets_its_field(name: str) -> None:
    written, meant = FLAT_EXAMPLES[name]
    rest = {"TELEGRAM_WEBHOOK_SECRET": "s3cret_-", "KOI_MODEL": "m"}

    settings = load(rest | {name: written})

    assert plain(getattr(settings, FLAT[name])) == meant


@pytest.mark.parametrize("name", [n for n in FLAT if n.endswith(("TOKEN", "KEY", "PASSWORD", "SECRET"))])
def test_a_secret_may_come_from_a_file(tmp_path: Path, name: str) -> None:
    written, meant = FLAT_EXAMPLES[name]
    (tmp_path / "secret").write_text(f"{written}\n")

    settings = load({f"{name}_FILE": str(tmp_path / "secret")})

    assert plain(getattr(settings, FLAT[name])) == meant


def test_empty_variables_count_as_not_set() -> None:
    names = [*FLAT, "KOI_MODEL", "KOI_FALLBACK_MODEL", "OPENROUTER_MODEL", "KOI_MEMORY__ENTRIES", "KOI_X__Y"]

    assert load(dict.fromkeys([*names, "ANTHROPIC_API_KEY_FILE"], "")) == Settings()


@pytest.mark.parametrize(
    ("environ", "chain", "light"),
    [
        ({}, (), ""),
        ({"ANTHROPIC_API_KEY": "k"}, ("claude-sonnet-5-5",), "claude-haiku-5-5"),
        ({"ANTHROPIC_API_KEY": "k", "KOI_LIGHT_MODEL": "l"}, ("claude-sonnet-5-5",), "l"),
        (
            {"ANTHROPIC_API_KEY": "k", "KOI_FALLBACK_MODEL": "f"},
            ("claude-sonnet-5-5", "f"),
            "claude-haiku-5-5",
        ),
        ({"ANTHROPIC_API_KEY": "k", "KOI_MODEL": "m"}, ("m",), ""),
        ({"KOI_MODEL": "m", "KOI_FALLBACK_MODEL": "a, b,m"}, ("m", "a", "b"), ""),
        ({"KOI_MODEL": "m", "OPENROUTER_MODEL": "o/o"}, ("m",), ""),
        ({"OPENROUTER_MODEL": "o/o", "OPENROUTER_FALLBACK_MODEL": "o/f"}, ("o/o", "o/f"), ""),
        (
            {"OPENROUTER_API_KEY": "k"},
            ("anthropic/claude-sonnet-5.5",),
            "anthropic/claude-haiku-5.5",
        ),
        ({"KOI_MODEL": "m", "ANTHROPIC_BASE_URL": "http://h"}, ("m",), ""),
        (
            {
                "KOI_MODEL": "m",
                "ANTHROPIC_BASE_URL": "http://h",
                "OPENROUTER_API_KEY": "k",
                "OPENROUTER_FALLBACK_MODEL": "o/f, openrouter:o/g",
            },
            ("m", "openrouter:o/f", "openrouter:o/g"),
            "",
        ),
        (
            {"ANTHROPIC_BASE_URL": "http://h", "OPENROUTER_MODEL": "m", "OPENROUTER_FALLBACK_MODEL": "f"},
            ("m", "f"),
            "",
        ),
    ],
)
def test_the_chain_of_models(environ: dict[str, str], chain: tuple[str, ...], light: str) -> None:
    settings = load(environ)

    assert (settings.models, settings.light_model) == (chain, light)


def test_models_of_the_file_give_way_one_by_one(tmp_path: Path) -> None:
    toml = 'models = ["a", "b"]\n'

    assert load({}, toml, tmp_path).models == ("a", "b")
    assert load({"ANTHROPIC_API_KEY": "k"}, toml, tmp_path).models == ("a", "b")
    assert load({"KOI_MODEL": "m"}, toml, tmp_path).models == ("m", "b")
    assert load({"KOI_FALLBACK_MODEL": "f"}, toml, tmp_path).models == ("a", "f")


def test_a_bot_gets_the_token_that_it_names(tmp_path: Path) -> None:
    toml = '[[bots]]\nname = "work"\ntoken_env = "WORK"\nmemory = "work"\n[[bots]]\nname = "home"\ntoken_env = "TELEGRAM_BOT_TOKEN"\n'
    (tmp_path / "token").write_text(OTHER_TOKEN + "\n")

    settings = load({"TELEGRAM_BOT_TOKEN": TOKEN, "WORK_FILE": str(tmp_path / "token")}, toml, tmp_path)

    assert [plain(bot.token) for bot in settings.bots] == [OTHER_TOKEN, TOKEN]
    assert settings.telegram_bot_tokens == ()


MCP = """
[tools]
facts = true
[[bots]]
name = "kitchen"
[[mcp]]
name = "time"
command = ["mcp-server-time", "--local-timezone", "Europe/Berlin"]
env = ["LANG"]
tools = ["get_current_time"]
[[mcp]]
name = "house"
url = "https://house.example/mcp/"
token_env = "HOUSE_TOKEN"
bots = ["kitchen"]
people = [7, "*"]
timeout = "5s"
"""


def test_mcp_servers_are_read_with_their_tokens(tmp_path: Path) -> None:
    settings = load({"HOUSE_TOKEN": "sesame"}, MCP, tmp_path)

    time, house = settings.mcp
    assert (time.command[0], time.env, time.timeout) == ("mcp-server-time", ("LANG",), timedelta(seconds=20))
    assert (house.url, house.people, plain(house.token)) == (
        "https://house.example/mcp",
        ("7", "*"),
        "sesame",
    )
    assert (settings.tools.facts, settings.tools.enabled, settings.turn.max_usd) == (True, True, 0.5)
    assert "sesame" not in repr(settings)


def test_only_a_process_that_thinks_needs_the_tokens_of_servers(tmp_path: Path) -> None:
    assert refusal({}, MCP, tmp_path) == (
        "koi.toml line 14: mcp[1].token_env is 'HOUSE_TOKEN'; it must name a variable that is set, or its _FILE"
    )
    settings = load_settings({}, tmp_path / "koi.toml", thinks=False)

    assert plain(settings.mcp[1].token) == ""


def test_a_token_of_a_server_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame\n")

    assert plain(load({"HOUSE_TOKEN_FILE": str(tmp_path / "token")}, MCP, tmp_path).mcp[1].token) == "sesame"


PLANS = """
[money]
currency = "EUR"
rate = 0.92
[prices."qwen3:8b"]
input = 0
output = 0.05
[plans.free]
people = [7, "*"]
messages_per_day = 20
usd_per_month = 0.5
"""


def test_money_prices_and_plans_are_read_under_the_names_that_people_choose(tmp_path: Path) -> None:
    settings = load({}, PLANS, tmp_path)

    assert (settings.money.currency, settings.money.rate) == ("EUR", 0.92)
    assert settings.prices["qwen3:8b"].output == 0.05
    assert settings.prices["qwen3:8b"].cache_read is None
    free = settings.plans["free"]
    assert (free.people, free.messages_per_day, free.usd_per_month) == (("7", "*"), 20, 0.5)


def test_money_and_plans_may_be_set_by_variables() -> None:
    settings = load(
        {
            "KOI_MONEY__CURRENCY": "CHF",
            "KOI_MONEY__RATE": "0.9",
            "KOI_PLANS__FREE__PEOPLE": "7, *",
            "KOI_PLANS__FREE__MODELS": "a,b",
            "KOI_PRICES__LOCAL__INPUT": "0.1",
            "KOI_PRICES__LOCAL__OUTPUT": "1",
        }
    )

    assert settings.money.currency == "CHF"
    assert (settings.plans["free"].people, settings.plans["free"].models) == (("7", "*"), ("a", "b"))
    assert settings.prices["local"].input == 0.1


def test_a_plan_without_limits_has_none(tmp_path: Path) -> None:  # C54: not $0
    plan = load({}, '[plans.all]\npeople = ["*"]\n', tmp_path).plans["all"]

    assert (plan.usd_per_month, plan.messages_per_day) == (None, None)


def test_plans_may_only_name_models_that_are_asked(tmp_path: Path) -> None:
    toml = '[plans.free]\nmodels = ["claude-haiku-5-5", "b"]\n[[bots]]\nname = "x"\nmodels = ["b"]\n'
    wrong = '[plans.free]\nmodels = ["haiku"]\n'

    assert load({"ANTHROPIC_API_KEY": "k"}, toml, tmp_path).plans["free"].models == ("claude-haiku-5-5", "b")
    assert load({}, wrong, tmp_path).plans["free"].models == ("haiku",), (
        "a process without keys knows no models"
    )
    assert refusal({"ANTHROPIC_API_KEY": "k"}, wrong, tmp_path) == (
        "plans.free.models has 'haiku'; it must be one of claude-sonnet-5-5, claude-haiku-5-5"
    )


@pytest.mark.parametrize(
    ("zone", "meant"), [(":Europe/Berlin", "Europe/Berlin"), ("/etc/localtime", ""), (":/etc/localtime", "")]
)
def test_the_zone_as_machines_write_it(zone: str, meant: str) -> None:
    assert load({"TZ": zone}).timezone == meant


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (
            "[memory]\n\nentires = 5",
            "koi.toml line 3: memory.entires is not a setting; did you mean memory.entries?",
        ),
        ("[memry]\nentries = 5", "koi.toml line 2: memry.entries is not a setting; did you mean memory.entries?"),
        ("[memory]\nidle = '1m'", "koi.toml line 2: memory.idle is not a setting; did you mean session.idle?"),
        ("KOI_LANGUAGE = 'de'", "koi.toml line 1: KOI_LANGUAGE is not a setting; did you mean language?"),
        ("zzzzzz = 1", "koi.toml line 1: zzzzzz is not a setting"),
        ("[memory]\nentries = 'many'", "koi.toml line 2: memory.entries is 'many'; it must be a whole number"),
        ("[memory]\nentries = 0", "koi.toml line 2: memory.entries is '0'; it must be at least 1"),
        ("[memory]\nentries = 1001", "koi.toml line 2: memory.entries is '1001'; it must be at most 1000"),
        ("[queue]\nlease = '0s'", "koi.toml line 2: queue.lease is '0s'; it must be at least 500ms"),
        (
            "[queue]\ndurability = 'maybe'",
            "koi.toml line 2: queue.durability is 'maybe'; it must be 'everysec' or 'always'",
        ),
        (
            "turn.deadline = 120",
            'koi.toml line 1: turn.deadline is \'120\'; it must be a duration like "500ms", "90s", "30m" or "24h"',
        ),
        (
            "[plans.free]\npeopel = ['7']",
            "koi.toml line 2: plans.free.peopel is not a setting; did you mean plans.free.people?",
        ),
        ("[plan.free]\npeople = ['7']", "koi.toml line 2: plan.free.people is not a setting; did you mean plans.NAME.people?"),
        ("plans = 5", "koi.toml line 1: plans is '5'; it must be a section with settings in it"),
        ("plans.free = 5", "koi.toml line 1: plans.free is '5'; it must be a section with settings in it"),
        (
            "[plans.free]\npeople = ['7', '@jo']",
            'koi.toml line 2: plans.free.people is \'@jo\'; it must be a Telegram user id, digits only (the bot tells strangers theirs)',
        ),
        ("[plans.free]\npeople = ['']", 'koi.toml line 2: plans.free.people is \'\'; it must be a Telegram user id, or "*" for everybody'),
        ("[plans.free]\nusd_per_month = -1", "koi.toml line 2: plans.free.usd_per_month is '-1'; it must be at least 0"),
        ("[plans.free]\nusd_per_month = inf", "koi.toml line 2: plans.free.usd_per_month is 'inf'; it must be a number"),
        (
            "[plans.a]\npeople = ['7']\n[plans.b]\npeople = ['8', 7]",
            "plans.a and plans.b both have 7; it must be one of them",
        ),
        (
            "[plans.a]\npeople = ['*']\n[plans.b]\npeople = ['*']",
            "plans.a and plans.b both have everybody else (*); it must be one of them",
        ),
        ("[money]\ncurrency = 'euro'", "koi.toml line 2: money.currency is 'euro'; it must be a currency code like EUR"),
        ("[money]\nrate = 0", "koi.toml line 2: money.rate is '0'; it must be more than 0"),
        (
            '[prices."a/b.5"]\ninptu = 1',
            'koi.toml line 2: prices."a/b.5".inptu is not a setting; did you mean prices."a/b.5".input?',
        ),
        ('[prices]\n"a/b.5" = {input = 1}', 'prices."a/b.5".output is missing; it must be set'),
        ('[prices]\n"a" = {input = 1, output = "x"}', "koi.toml line 2: prices.a.output is 'x'; it must be a number"),
        ("memory = 5", "koi.toml line 1: memory is '5'; it must be a section with settings in it"),
        ("bots = 5", "koi.toml line 1: bots is '5'; it must be written [[bots]], with two brackets, as a table of its own for each bot"),
        ("[bots]\nname = 'a'", "koi.toml: [bots] must be written [[bots]], with two brackets, as a table of its own for each bot"),
        ("[bots.work]\nmemory = 'a'", "koi.toml: [bots] must be written [[bots]], with two brackets, as a table of its own for each bot"),
        ("[mcp]\nname = 'a'\ncommand = ['x']", "koi.toml: [mcp] must be written [[mcp]], with two brackets, as a table of its own for each server"),
        ("[[mcp]]\nname = 'a'\nurl = 'http://h'\npeople = '7, 8'", "koi.toml line 4: mcp[0].people is '7, 8'; it must be a list: [\"7\", \"8\"]"),
        ("language = 5", "koi.toml line 1: language is '5'; it must be text in quotes"),
        ("[[bots]]\ntoken_env = ''", "bots[0].name is missing; it must be set"),
        ("[[bots]]\nname = ''", "koi.toml line 2: bots[0].name is ''; it must not be empty"),
        ("[[bots]]\nname='a'\n[[bots]]\nnmae='b'\nname='c'", "koi.toml line 4: bots[1].nmae is not a setting; did you mean bots.name?"),
        (
            "[[bots]]\nname = 'a'\nmemory = 'a:b'",
            "koi.toml line 3: bots[0].memory is 'a:b'; it must be a name of letters, digits, dots and dashes",
        ),
        (
            "[[bots]]\nname = 'a'\ntoken_env = 'NOPE'",
            "koi.toml line 3: bots[0].token_env is 'NOPE'; it must name a variable that is set, or its _FILE",
        ),
        ("[[bots]]\nname = 'a'\n[[bots]]\nname = 'a'", "bots.name is 'a' twice; each bot must have a name of its own"),
        ("[[mcp]]\nname = 'A b'\nurl = 'http://h'",
            "koi.toml line 2: mcp[0].name is 'A b'; it must be at most 24 small letters, digits and dashes, a letter first"),
        ("[[mcp]]\nname = 'a'", "mcp 'a' has neither a url nor a command; it must have one of them"),
        ("[[mcp]]\nname = 'a'\nurl = 'http://h'\ncommand = ['x']", "mcp 'a' has both a url and a command; it must have one of them"),
        ("[[mcp]]\nname = 'a'\nurl = 'h:80'", "koi.toml line 3: mcp[0].url is 'h:80'; it must begin with https:// or http://"),
        ("[[mcp]]\nname = 'a'\ncommand = 'x y'", "koi.toml line 3: mcp[0].command is 'x y'; it must be a list: [\"x\", \"y\"]"),
        ("[[mcp]]\nname = 'a'\ncommand = ['']", "mcp 'a' has a command that begins with nothing; it must be a program and its arguments"),
        ("[[mcp]]\nname = 'a'\nurl = 'http://h'\nenv = ['X']", "mcp 'a' has env, which is for a command; a url is given a token by token_env"),
        ("[[mcp]]\nname = 'a'\ncommand = ['x']\n[[mcp]]\nname = 'a'\ncommand = ['y']", "mcp.name is 'a' twice; each server must have a name of its own"),
        ("[[mcp]]\nname = 'a'\ncommand = ['x']\nbots = ['b']", "mcp 'a' is for the bot 'b'; it must be the name of a [[bots]] table, and there is none"),
        ("[[bots]]\nname = 'k'\n[[mcp]]\nname = 'a'\ncommand = ['x']\nbots = ['k', 'b']", "mcp 'a' is for the bot 'b'; it must be one of k"),
        ("[[mcp]]\nname = 'a'\ntoken = 'hunter2'", "koi.toml line 3: mcp[0].token is a secret, which does not belong in this file; "
            "set a variable named by token_env in the environment"),
        ("[[mcp]]\nnmae = 'a'", "koi.toml line 2: mcp[0].nmae is not a setting; did you mean mcp.name?"),
        ("[tools]\nfact = true", "koi.toml line 2: tools.fact is not a setting; did you mean tools.facts?"),
        ("[tools]\nweb = 'perhaps'", "koi.toml line 2: tools.web is 'perhaps'; it must be true or false"),
        ("[memory\n", "koi.toml is not TOML: Expected ']' at the end of a table declaration (at line 1, column 8)"),
        (
            f"anthropic_api_key = '{TOKEN}'",
            "koi.toml line 1: anthropic_api_key is a secret, which does not belong in this file; "
            "set ANTHROPIC_API_KEY or ANTHROPIC_API_KEY_FILE in the environment",
        ),
        (
            f"TELEGRAM_BOT_TOKEN = '{TOKEN}'",
            "koi.toml line 1: TELEGRAM_BOT_TOKEN is a secret, which does not belong in this file; "
            "set TELEGRAM_BOT_TOKEN or TELEGRAM_BOT_TOKEN_FILE in the environment",
        ),
        (
            "redis_url = 'redis://:pw@h'",
            "koi.toml line 1: redis_url is a secret, which does not belong in this file; "
            "set REDIS_URL or REDIS_URL_FILE in the environment",
        ),
        (
            f"[[bots]]\nname = 'a'\ntoken = '{TOKEN}'",
            "koi.toml line 3: bots[0].token is a secret, which does not belong in this file; "
            "set a variable named by token_env in the environment",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_told_in_one_line(tmp_path: Path, toml: str, line: str) -> None:
    assert refusal({}, toml, tmp_path) == line


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"KOI_MEMORY__ENTIRES": "5"}, "KOI_MEMORY__ENTIRES is not a setting; did you mean KOI_MEMORY__ENTRIES?"),
        ({"KOI_MEMRY__ENTRIES": "5"}, "KOI_MEMRY__ENTRIES is not a setting; did you mean KOI_MEMORY__ENTRIES?"),
        (
            {"KOI_PLANS__FREE__PEOPEL": "7"},
            "KOI_PLANS__FREE__PEOPEL is not a setting; did you mean KOI_PLANS__FREE__PEOPLE?",
        ),
        ({"KOI_MONEY__CURENCY": "EUR"}, "KOI_MONEY__CURENCY is not a setting; did you mean KOI_MONEY__CURRENCY?"),
        ({"KOI_MCP__NAME": "a"}, "KOI_MCP__NAME cannot be set here; it belongs in a [[mcp]] table of koi.toml"),
        ({"KOI_MONEY__RATE": "much"}, "KOI_MONEY__RATE is 'much'; it must be a number"),
        ({"OPENROUTER_BASE_URL": "router"}, "OPENROUTER_BASE_URL is 'router'; it must begin with https:// or http://"),
        ({"KOI_MODLE": "x"}, "KOI_MODLE is not a setting; did you mean KOI_MODEL?"),
        ({"KOI_LANGUAGE__X": "x"}, "KOI_LANGUAGE__X is not a setting; did you mean KOI_LANGUAGE?"),
        ({"KOI_MEMORY__ENTRIES": "many"}, "KOI_MEMORY__ENTRIES is 'many'; it must be a whole number"),
        (
            {"TELEGRAM_OWNER": "@jo"},
            "TELEGRAM_OWNER is '@jo'; it must be a Telegram user id, digits only (the bot tells strangers theirs)",
        ),
        (
            {"TELEGRAM_ALLOWED_USERS": "7,jo"},
            "TELEGRAM_ALLOWED_USERS is 'jo'; it must be a Telegram user id, digits only (the bot tells strangers theirs)",
        ),
        ({"TZ": "Mars/Base"}, "TZ is 'Mars/Base'; it must be a zone like Europe/Berlin"),
        ({"TZ": "../../x"}, "TZ is '../../x'; it must be a zone like Europe/Berlin"),
        ({"KOI_LANGUAGE": "German!"}, "KOI_LANGUAGE is 'German!'; it must be a language code like de or en"),
        ({"KOI_LOG": "loud"}, "KOI_LOG is 'loud'; it must be 'info' or 'debug'"),
        ({"KOI_DASHBOARD_BIND": "8420"}, "KOI_DASHBOARD_BIND is '8420'; it must be an address with a port, like 127.0.0.1:8420"),
        ({"SMTP_PORT": "70000"}, "SMTP_PORT is '70000'; it must be at most 65535"),
        (
            {"REDIS_URL": "http://u:hunter2@h"},
            "REDIS_URL is 'http://…@h'; it must begin with redis://, rediss://, unix:// or redis+sentinel://",
        ),
        ({"TELEGRAM_API_BASE": "api"}, "TELEGRAM_API_BASE is 'api'; it must begin with https:// or http://"),
        (
            {"ANTHROPIC_BASE_URL": "http://u:p@h"},
            "KOI_MODEL is not set; it must name a model that 'http://…@h' has",
        ),
        (
            {"TELEGRAM_BOT_TOKEN": f"{TOKEN},hunter2"},
            "TELEGRAM_BOT_TOKEN must be a bot token like 123456789:AA…, as @BotFather gives it",
        ),
        (
            {"TELEGRAM_BOT_TOKEN": f"{TOKEN},{TOKEN}x"},
            "bot 123456789 has two tokens; each bot must be given once",
        ),
        (
            {"TELEGRAM_WEBHOOK_URL": "https://koi.example"},
            "TELEGRAM_WEBHOOK_SECRET is not set; with TELEGRAM_WEBHOOK_URL it must be a long random text",
        ),
        (
            {"TELEGRAM_WEBHOOK_SECRET": "hunter2 !"},
            "TELEGRAM_WEBHOOK_SECRET must be at most 256 letters, digits, _ and - (Telegram takes no others)",
        ),
        (
            {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_API_KEY_FILE": "/b"},
            "ANTHROPIC_API_KEY and ANTHROPIC_API_KEY_FILE are both set; it must be one of them",
        ),
        (
            {"ANTHROPIC_API_KEY_FILE": "/nowhere/key"},
            "ANTHROPIC_API_KEY_FILE is '/nowhere/key', which cannot be read: No such file or directory",
        ),
        ({"ANTHROPIC_API_KEY_FILE": "/dev/null"}, "ANTHROPIC_API_KEY_FILE is '/dev/null', which is empty"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_environment_is_told_in_one_line(environ: dict[str, str], line: str) -> None:
    assert refusal(environ) == line


def test_a_nested_name_that_runs_through_a_value_is_refused(tmp_path: Path) -> None:
    line = refusal({"KOI_MEMORY__ENTRIES": "5"}, "memory = 3", tmp_path)

    assert line == "koi.toml line 1: memory must be a section with settings in it"


def test_foreign_variables_are_left_alone() -> None:
    environ = {
        "KOI_CLOCK_OFFSET": "5",
        "KOI_CONFIG": "",
        "KOI_IMAGE_TAG": "x",
        "TELEGRAM_TOKEN": "x",
        "PATH": "x",
    }

    assert load(environ) == Settings()


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "koi.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(BadSetting, match="is not TOML"):
        load_settings({}, tmp_path / "koi.toml")


def test_secrets_are_not_shown() -> None:
    environ = {name: FLAT_EXAMPLES[name][0] for name in FLAT} | {
        "KOI_MODEL": "m",
        "REDIS_URL": "redis://:pw9@h",
    }

    text = repr(load(environ))

    assert not [
        secret for secret in (TOKEN, "sk-ant-x", "sk-or-x", "s3cret", "pw9", "smtps") if secret in text
    ]


@pytest.mark.parametrize("value", [TOKEN, "sk-ant-api03-abcdefgh", "redis://user:hunter2@h", f"x {TOKEN}"])
def test_what_looks_like_a_secret_is_never_repeated(value: str) -> None:
    assert not {"hunter2", "abcdefgh", TOKEN.partition(":")[2]} & {
        part for part in ("hunter2", "abcdefgh", TOKEN.partition(":")[2]) if part in shown(value)
    }


def test_long_values_are_cut() -> None:
    assert len(shown("x" * 1000)) == 62


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("90s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2 d", timedelta(days=2)),
    ],
)
def test_durations_are_a_number_and_a_unit(written: str, meant: timedelta) -> None:
    assert parse_duration(written) == meant


@pytest.mark.parametrize("written", ["", "5", "-5s", "s", 5, None, "9" * 30 + "h", "٣s x"])
def test_other_durations_are_refused(written: object) -> None:
    with pytest.raises(ValueError, match="must be a"):
        parse_duration(written)


def test_lines_of_keys_are_found_in_tables_and_lists_of_tables() -> None:
    text = "# c\na = 1\n[s]\nb.c = 2\n[[t]]\nd = 3\n\n[[t]]\nd = 4\n[p . \"a.b\"]\n'e f' = 5\n"

    assert dict(key_lines(text)) == {
        ("a",): 2, ("s", "b", "c"): 4, ("t", 0, "d"): 6, ("t", 1, "d"): 9, ("p", "a.b", "e f"): 11,
    }  # fmt: skip


def test_another_currency_needs_its_rate() -> None:
    with pytest.raises(BadSetting, match=r"money\.rate is not set; it must be how many EUR one US dollar is"):
        load_settings({"KOI_MONEY__CURRENCY": "EUR"}, None)

    assert load_settings({"KOI_MONEY__CURRENCY": "EUR", "KOI_MONEY__RATE": "0.86"}, None).money.rate == 0.86

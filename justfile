# `just` = check + test. Run it as `uv run --group dev just`, or with the environment active.

# koi is started often here: what Python compiled is kept, whatever the shell says
export PYTHONDONTWRITEBYTECODE := ""

default: check test

# style, types, import rules, spelling
check:
    ruff check .
    ruff format --check .
    lint-imports
    pyright
    codespell

# everything that can be mended by a machine
fix:
    ruff check --fix .
    ruff format .

# all tests, against a real server that the tests start themselves
test *ARGS:
    pytest -n auto --dist loadscope {{ARGS}}

# the tests that start no process of koi
test-unit:
    pytest -n auto --dist loadscope -m "not system"

test-system:
    pytest -m system

# everything on this machine
up:
    koi up

# all measurements of docs/architecture.md, one after another
bench:
    python -m bench.latency
    python -m bench.throughput
    python -m bench.recovery
    python -m bench.footprint
    python -m bench.chaos
    python -m bench.context
    python -m bench.cost
    python -m bench.dashboard
    python -m bench.routing

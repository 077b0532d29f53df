FROM ghcr.io/astral-sh/uv:0.13 AS uv

FROM python:3.13-slim AS build
COPY --from=uv /uv /usr/local/bin/uv
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PYTHON=/usr/local/bin/python3
WORKDIR /app
COPY pyproject.toml uv.lock .python-version README.md ./
RUN uv sync --frozen --no-install-project
COPY . .
RUN uv sync --frozen && python -m compileall -q /usr/local/lib/python3.13 bot cli infra lanes llm memory schemas workers

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home koi
WORKDIR /app
COPY --from=build /usr/local/lib/python3.13 /usr/local/lib/python3.13
COPY --from=build /app /app
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1
USER koi
CMD ["koi", "--help"]

FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore PORT=8501 READY_FILE=/dev/shm/fastmode-ready

WORKDIR /app
COPY requirements.txt ./
RUN pip install --quiet -r requirements.txt
COPY . .
# As root: the running user cannot write here.
RUN python -m fastmode.ui.plotly_bundle && useradd --create-home --uid 10001 fastmode
USER fastmode

EXPOSE 8501
# Healthy = the server answers and one whole session has run (see deploy/start.sh).
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD test -f "$READY_FILE" && python -c "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/_stcore/health', timeout=4)"
ENTRYPOINT ["sh", "deploy/start.sh"]

# Server and worker of compose.team.yaml: one image, so that both have the same Prefect.
# The base's Python is the one that constraints.txt was tried with.
ARG BASE=python:3.11-slim
FROM ${BASE}
# The wiki's service needs git; it is fetched only where the base lacks it.
RUN dpkg-query -W git >/dev/null 2>&1 \
 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends git ca-certificates \
      && rm -rf /var/lib/apt/lists/*; }
RUN useradd --create-home --uid 1000 vepa \
 && mkdir -p /vepa/artifacts /home/prefect && chown -R vepa /vepa /home/vepa /home/prefect
WORKDIR /vepa
# First what decides the packages: an update of the code alone does not install them again.
COPY --chown=vepa pyproject.toml constraints.txt README.md LICENSE /vepa/
COPY --chown=vepa vepa/__init__.py /vepa/vepa/
RUN pip install --no-cache-dir --constraint constraints.txt --editable '.[pipeline,bench,services,release]'
COPY --chown=vepa . /vepa
USER vepa

# Server and worker of compose.team.yaml: one image, so that both have the same Prefect.
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 vepa \
 && mkdir -p /vepa/artifacts /home/prefect && chown -R vepa /vepa /home/vepa /home/prefect
WORKDIR /vepa
COPY --chown=vepa . /vepa
RUN pip install --no-cache-dir --constraint constraints.txt --editable '.[pipeline,bench,services,release]'
USER vepa

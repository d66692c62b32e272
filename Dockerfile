# Two images from one build: docker build --target gateway . and docker build --target authorization-server .
# BASE is any Debian-like image with Node.js 24 and npm.
ARG BASE=docker.io/library/node:24-bookworm-slim

# What runs: production packages only, without the Node.js that the repository pins for itself (the base image brings it).
FROM ${BASE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY toolchain ./toolchain
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@scopegate node_modules/.package-lock.json

# Compiles dist/.
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY toolchain ./toolchain
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts ./scripts
COPY tsconfig.json tsconfig.build.json ./
COPY bin ./bin
COPY oauth ./oauth
COPY runtime ./runtime
COPY cli ./cli
COPY gateway ./gateway
COPY authorization-server ./authorization-server
COPY examples ./examples
RUN npm run build

# What both images share. Package managers have no business where nothing is installed.
FROM ${BASE} AS base
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
  /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* /root/.npm \
  && install -d -o 65532 -g 65532 -m 0750 /var/lib/scopegate
WORKDIR /app
ENV NODE_ENV=production
COPY package.json LICENSE ./
COPY bin ./bin
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist/cli ./dist/cli
COPY --from=build /app/dist/oauth ./dist/oauth
COPY --from=build /app/dist/runtime ./dist/runtime
COPY config ./config
USER 65532:65532

FROM base AS authorization-server
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Scopegate authorization server" \
  org.opencontainers.image.description="Issues the tokens that a Scopegate gateway accepts." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
COPY --from=build /app/dist/authorization-server ./dist/authorization-server
EXPOSE 8081 9091
ENTRYPOINT ["node", "bin/scopegate.js", "authorization-server"]

FROM base AS gateway
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Scopegate gateway" \
  org.opencontainers.image.description="One address in front of many APIs: validates every access token and enforces the scopes that policies declare." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
COPY --from=build /app/dist/gateway ./dist/gateway
COPY policies ./policies
EXPOSE 8080 9090
ENTRYPOINT ["node", "bin/scopegate.js", "gateway"]

# Builds three images. Select one with --target gateway, authorization-server or learning-platform (the demo API).
# docs/container-image.md describes the images and reproducible builds.
# The images contain no configuration and no policies. Mount both, and set SCOPEGATE_CONFIG_DIR to the folder of the
# configuration.
# BASE builds the images, and is any Debian-like image with npm and Node.js 24.7 or later.
ARG BASE=docker.io/library/node:24-bookworm-slim

# Installs only production packages. The base image provides Node.js, so this step removes the pinned Node.js of the
# repository.
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
COPY tsconfig.json tsconfig.build.json tsconfig.types.json ./
COPY bin ./bin
COPY oauth ./oauth
COPY platform ./platform
COPY policy-engine ./policy-engine
COPY cli ./cli
COPY gateway ./gateway
COPY authorization-server ./authorization-server
COPY examples ./examples
RUN npm run build

# The system files of all images: the pinned Node.js, its shared libraries, CA certificates and the user.
FROM build AS system
ARG SOURCE_DATE_EPOCH
RUN node scripts/image/make-root.js /image "$(node_modules/.bin/node -p process.execPath)" \
  && install -d -o 65532 -g 65532 -m 0750 /image/var/lib/scopegate \
  && node scripts/image/write-sbom.ts /image > /sbom.cdx.json

# The components of all images (docs/container-image.md).
FROM scratch AS sbom
COPY --from=system /sbom.cdx.json /

# The common layers of all images. They contain no shell and no package manager.
FROM scratch AS base
COPY --from=system /image/ /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
ENV NODE_ENV=production
COPY package.json LICENSE ./
COPY bin ./bin
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist/cli ./dist/cli
COPY --from=build /app/dist/oauth ./dist/oauth
COPY --from=build /app/dist/platform ./dist/platform
USER 65532:65532

FROM base AS learning-platform
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Scopegate demo API" \
  org.opencontainers.image.description="A learning platform with 20 resource families, for trying a Scopegate gateway." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
COPY --from=build /app/dist/examples/learning-platform ./dist/examples/learning-platform
EXPOSE 8082
ENTRYPOINT ["node", "dist/examples/learning-platform/main.js"]

# The code of both services. `scopegate check` needs the code of both.
FROM base AS services
COPY --from=build /app/dist/policy-engine ./dist/policy-engine
COPY --from=build /app/dist/gateway ./dist/gateway
COPY --from=build /app/dist/authorization-server ./dist/authorization-server

FROM services AS authorization-server
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Scopegate authorization server" \
  org.opencontainers.image.description="Issues the tokens that a Scopegate gateway accepts." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
EXPOSE 8081 9091
ENTRYPOINT ["node", "bin/scopegate.js", "authorization-server"]

FROM services AS gateway
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Scopegate gateway" \
  org.opencontainers.image.description="One address in front of many APIs: validates every access token and enforces the scopes that policies declare." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}"
EXPOSE 8080 9090
ENTRYPOINT ["node", "bin/scopegate.js", "gateway"]

# SPDX-License-Identifier: Apache-2.0
# Built by `make image` (deploy/image.sh), on any processor that BASE is there
# for. BASE may be any image of Debian 12 or newer; nothing of it is shipped
# but the shared libraries that the program is linked to.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive \
	apt-get install -y --no-install-recommends \
	gcc libc6-dev make pkg-config libmicrohttpd-dev libcurl4-openssl-dev \
	libcjson-dev libyaml-dev libssl-dev libgnutls28-dev
COPY . /src
WORKDIR /src
RUN make -s all && deploy/image-root.sh \
	build/karpenter-node-holder /image /packages

# What dpkg knows of these libraries: the bill of materials is made of it.
FROM scratch AS packages
COPY --from=build /packages /

FROM scratch
LABEL org.opencontainers.image.title="karpenter-node-holder" \
	org.opencontainers.image.description="Holds Karpenter's nodes while a cluster settles after a scale-up" \
	org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/usr/bin/karpenter-node-holder"]
CMD ["serve"]

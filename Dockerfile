# SPDX-License-Identifier: Apache-2.0
# `make image` (deploy/image.sh) builds this on any processor architecture for
# which BASE exists. BASE may be any image of Debian 12 or newer. Of BASE only the
# shared libraries that the programs are linked to end up in the image.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
RUN apt-get update && DEBIAN_FRONTEND=noninteractive \
	apt-get install -y --no-install-recommends \
	gcc libc6-dev make pkg-config libmicrohttpd-dev libcurl4-openssl-dev \
	libcjson-dev libyaml-dev libssl-dev libgnutls28-dev zlib1g-dev
COPY . /src
WORKDIR /src
RUN make -s all && deploy/image-root.sh /image /packages \
	build/karpenter-node-holder build/holderctl

# dpkg's records of these libraries. The bill of materials is made from them.
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

# SPDX-License-Identifier: Apache-2.0
# Written with the code, proven later: nothing has been built from this file
# yet. `make` on Debian 12 is what the tests run.
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc libc6-dev make pkg-config libmicrohttpd-dev libcurl4-openssl-dev \
	libcjson-dev libyaml-dev libssl-dev libgnutls28-dev uthash-dev
WORKDIR /src
COPY Makefile ./
COPY include include
COPY src src
RUN make -s all && \
	strip build/karpenter-node-holder && \
	# the program and the libraries it is linked to, and nothing else
	mkdir -p /image/usr/bin /image/tmp && \
	cp build/karpenter-node-holder /image/usr/bin/ && \
	ldd build/karpenter-node-holder | grep -o '/[^ ]*' | sort -u | \
	while read -r lib; do \
		mkdir -p "/image$(dirname "$lib")" && cp -L "$lib" "/image$lib"; \
	done

FROM scratch
COPY --from=build /image /
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/usr/bin/karpenter-node-holder"]
CMD ["serve"]

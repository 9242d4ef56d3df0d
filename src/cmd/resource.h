/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RESOURCE_H
#define CMD_RESOURCE_H

#include "core/object.h"
#include "wire/objects.h"

/* Where each kind lives and in which form we ask for it. */
struct resource {
	const char *name;	/* for logs and metrics */
	const char *path;
	const char *list_accept, *item_accept;
};

/* Nodes as metadata; NodeClaims whole, for their conditions. */
extern const struct resource resources[KIND_COUNT];

#define ACCEPT_METADATA                                                        \
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"        \
	"application/json"
#define ACCEPT_METADATA_LIST                                                   \
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"    \
	"application/json"

#endif

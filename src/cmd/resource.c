/* SPDX-License-Identifier: Apache-2.0 */
#include "resource.h"

#include <stddef.h>

const struct resource resources[KIND_COUNT] = {
	[KIND_NODE] = {"nodes", "/api/v1/nodes", ACCEPT_METADATA_LIST,
		       ACCEPT_METADATA},
	[KIND_NODECLAIM] = {"nodeclaims", "/apis/karpenter.sh/v1/nodeclaims",
			    NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DOCTOR_TESTED_H
#define CORE_DOCTOR_TESTED_H

/*
 * The pairs of Karpenter and Kubernetes that `make matrix` has passed, by
 * Karpenter's version.  Written by tests/matrix/matrix.py.
 */
/* clang-format off */
static const struct tested {
	unsigned karpenter[3], kubernetes[3];
} tested[] = {
	{{1, 0, 8}, {1, 30, 14}},
	{{1, 6, 4}, {1, 34, 4}},
	{{1, 9, 0}, {1, 35, 4}},
	{{1, 13, 0}, {1, 36, 3}},
	{{1, 14, 1}, {1, 36, 3}},
	{{1, 14, 3}, {1, 36, 3}},
	{{1, 15, 0}, {1, 36, 3}},
	{{1, 15, 0}, {1, 37, 2}},
};
/* clang-format on */

#endif

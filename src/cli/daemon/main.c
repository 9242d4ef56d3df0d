/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

int
main(int argc, char **argv)
{
	return program_main(&daemon_program, argc, argv, &timing_default);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* `holderctl simulate`, and nothing else. */
#include "cli/say.h"
#include "cli/tools/cmd.h"

int
main(int argc, char **argv)
{
	static const struct timing none;

	say_as(PROGRAM);
	return cmd_simulate(argc, argv, &none);
}

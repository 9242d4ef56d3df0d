/* SPDX-License-Identifier: Apache-2.0 */
#include "recommend_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/karpenter/fact.h"

const struct advice_setup recommend_flags_defaults = {
	.percent = true, .regret = 10, .price = -1};

static int
take_regret(struct advice_setup *a, const char *text, struct err *e)
{
	size_t digits = strspn(text, "0123456789");

	a->percent = strcmp(text + digits, "%") == 0;
	a->regret = strtoull(text, NULL, 10);
	if (digits > 0 && digits <= 9 &&
	    (a->percent ? a->regret <= 100 : text[digits] == '\0'))
		return 1;
	return err_set(
		e, ERR_INPUT,
		"--max-regret: \"%.60s\", expected a number of decisions "
		"such as 3, or a share of them such as 10%%",
		text);
}

static int
take_price(struct advice_setup *a, const char *text, struct err *e)
{
	if (fact_dollars_parse(text, strlen(text), &a->price) == 0 &&
	    a->price >= 0)
		return 1;
	return err_set(e, ERR_INPUT,
		       "--max-price: \"%.60s\", expected dollars such as 25.50",
		       text);
}

int
recommend_flags_take(struct advice_setup *a, const char *name,
		     const char *value, struct err *e)
{
	bool regret = strcmp(name, "max-regret") == 0;

	if (!regret && strcmp(name, "max-price") != 0)
		return 0;
	a->asked = true;
	if (value == NULL)
		return 1;
	return regret ? take_regret(a, value, e) : take_price(a, value, e);
}

void
recommend_flags_help(void)
{
	(void)puts(
		"    --recommend:\n"
		"        recommend one of the settings; without settings, those of "
		"--hold-duration\n"
		"        " RECOMMEND_HOLDS " and --scope " RECOMMEND_SCOPES "\n"
		"    --max-regret='10%':\n"
		"        how many decisions with regret, or which share of them, "
		"may be left\n"
		"    --max-price='':\n"
		"        the dollars that the setting may cost in the time of the "
		"log, under the\n"
		"        most expensive assumption");
}

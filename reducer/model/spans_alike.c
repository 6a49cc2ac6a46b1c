/* SPDX-License-Identifier: Apache-2.0 */
/* Spans kept by what they were made from. See spans_alike.h. */
#include "reducer/model/spans_alike.h"

#include <stdlib.h>

struct alike *alikes_of(struct alikes *alikes, const struct alike_key *key, int *is_new)
{
	const uint64_t words[4] = {(uint64_t)key->first << 32 | key->second, (uint64_t)key->op << 32 | key->range,
				   (uint64_t)key->depth << 32 | key->thread,
				   (uint64_t)key->what << 16 | (uint64_t)key->phase << 8 | key->op_source};
	uint64_t mixed = words[0] * UINT64_C(0x9e3779b97f4a7c15) + words[1] * UINT64_C(0xd6e8feb86659fd93) + words[2] + words[3];
	struct alike *alike;

	if (alikes->kept == NULL)
		alikes->kept = calloc(ALIKE_KEPT, sizeof *alikes->kept);
	alike = alikes->kept == NULL ? &alikes->none : &alikes->kept[(mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (ALIKE_KEPT - 1)];
	*is_new = alike->span.alike == 0 || alike->words[0] != words[0] || alike->words[1] != words[1] ||
		  alike->words[2] != words[2] || alike->words[3] != words[3];
	if (!*is_new)
		return alike;
	*alike = (struct alike){.words = {words[0], words[1], words[2], words[3]}, .span.alike = ++alikes->count};
	return alike;
}

void alikes_free(struct alikes *alikes)
{
	free(alikes->kept);
	alikes->kept = NULL;
}

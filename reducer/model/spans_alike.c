/* SPDX-License-Identifier: Apache-2.0 */
/* Spans kept by what they were made from. See spans_alike.h. */
#include "reducer/model/spans_alike.h"

#include <stdlib.h>

struct alike *alikes_find(struct alikes *alikes, const uint64_t words[4], int *is_new)
{
	uint64_t mixed = words[0] * UINT64_C(0x9e3779b97f4a7c15) + words[1] * UINT64_C(0xd6e8feb86659fd93) + words[2] + words[3];
	struct alike *alike = &alikes->none;

	if (alikes->kept == NULL)
		alikes->kept = calloc(ALIKE_KEPT, sizeof *alikes->kept);
	if (alikes->kept != NULL)
		alike = &alikes->kept[((mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (ALIKE_KEPT - 1)];
	*is_new = alike->span.alike == 0 || alike->words[0] != words[0] || alike->words[1] != words[1] ||
		  alike->words[2] != words[2] || alike->words[3] != words[3];
	if (*is_new)
		*alike = (struct alike){.words = {words[0], words[1], words[2], words[3]}, .span.alike = ++alikes->count};
	return alike;
}

void alikes_free(struct alikes *alikes)
{
	free(alikes->kept);
	alikes->kept = NULL;
}

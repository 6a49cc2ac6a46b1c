/* SPDX-License-Identifier: Apache-2.0 */
/* Spans kept by what they were made from. See spans_alike.h. */
#include "reducer/model/spans_alike.h"

#include <stdlib.h>

void alikes_begin(struct alikes *alikes)
{
	alikes->kept = calloc(ALIKE_KEPT, sizeof *alikes->kept);
}

void alike_begin(struct alikes *alikes, struct alike *alike, const struct alike_key *key)
{
	*alike = (struct alike){.span.alike = ++alikes->count};
	alike_words(key, alike->words);
}

void alikes_free(struct alikes *alikes)
{
	free(alikes->kept);
	alikes->kept = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is mapped (cuMemMap), of which CUPTI has no records: among CUPTI's own, in the order of time, so that the sum of both is
 * right at each moment. A call stands in the log when it was made, CUPTI's records when they were fetched: mappings wait for those
 * that are later.
 */
#include "reducer/model/gpu_scan.h"

#include <stdlib.h>

#define WAITING_MAX (1u << 20) /* of a process whose CUPTI tells of no memory */
#define CALLS 2                /* number of a stream; those of CUPTI's records are 0 and 1 */

void gpu_mapped_note(struct gpu_scan *scan, struct gpu_blocks *blocks, const struct live_block *block, int is_release)
{
	struct gpu_mapped *wider = scan->mapped_count >= WAITING_MAX ? NULL : model_room(scan->mapped, scan->mapped_count, sizeof *wider);
	struct live_entry *known = live_find(&blocks->mapped, block->address);
	uint64_t sum = 0;

	if (wider == NULL) {
		scan->gpu->counts.left_out++;
		return;
	}
	if (is_release && known != NULL)
		live_remove(&blocks->mapped, known);
	else if (!is_release && known == NULL)
		live_settle(&blocks->mapped, block->address, 0, 0, &sum);
	scan->mapped = wider;
	wider[scan->mapped_count++] = (struct gpu_mapped){(uint32_t)(blocks - scan->blocks), is_release, *block};
}

int gpu_mapped_is(const struct gpu_blocks *blocks, uint64_t address)
{
	return live_find(&blocks->mapped, address) != NULL;
}

void gpu_mapped_feed(struct gpu_scan *scan, uint64_t until)
{
	for (; scan->mapped_fed < scan->mapped_count && scan->mapped[scan->mapped_fed].block.time <= until; scan->mapped_fed++) {
		const struct gpu_mapped *mapped = &scan->mapped[scan->mapped_fed];
		struct gpu_blocks *blocks = &scan->blocks[mapped->blocks];
		if (mapped->is_release) {
			pairs_release(&blocks->cupti, CALLS, mapped->block.address, mapped->block.time);
		} else {
			pairs_alloc(&blocks->cupti, CALLS, &mapped->block);
			blocks->mappings++;
		}
	}
	if (scan->mapped_fed == scan->mapped_count)
		scan->mapped_fed = scan->mapped_count = 0;
}

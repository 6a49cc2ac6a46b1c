/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full blocks of stack nodes, written a second time as columns, compressed: 1.3 bytes a node instead of 8.
 *
 * Rule: a block stays as it is until all its nodes stand in the log as packed blocks; only then its disk space goes back,
 * and its memory becomes private with the same content. What cannot be packed stays, and is read as ever.
 */
#ifndef TFP_WRITER_PACK_H
#define TFP_WRITER_PACK_H

#include <stddef.h>

/*
 * Packs one more block of nodes if one is full. `scratch`, page-aligned, is overwritten. Part of draining: any thread; of
 * two at once one does it. Ticks are counted by the caller.
 */
void tfp_pack_nodes(void *scratch, size_t scratch_bytes);

/* Whether there may be a block to pack. Any thread, cheap. */
int tfp_pack_is_due(void);

#endif

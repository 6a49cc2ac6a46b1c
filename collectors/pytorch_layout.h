/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the fields of at::RecordFunction lie, found out by looking at one that PyTorch builds for us.
 *
 * Rule: the object is given known contents through PyTorch's own functions, and an offset counts only where exactly those
 * are found; a layout that differs in kind is "not known", never guessed.
 */
#ifndef TFP_COLLECTORS_PYTORCH_LAYOUT_H
#define TFP_COLLECTORS_PYTORCH_LAYOUT_H

#include "collectors/pytorch.h"
#include "writer/stream.h"

/* Offsets in bytes; of use only when is_known. */
struct tfp_pytorch_layout {
	int is_known;
	uint16_t scope;          /* uint8_t */
	uint16_t sequence;       /* int64_t, -1 = none */
	uint16_t inputs;         /* const IValue *, then their count */
	uint16_t forward_thread; /* uint64_t, 0 but in backward functions */
	uint16_t is_async;       /* bool */
	uint16_t list_items;     /* of a list of values: where it begins and where it ends; 0 = not known */
	uint64_t list_class;     /* what such an object begins with */
};

/* Start-up of the adapter: one thread. */
void tfp_pytorch_find_layout(struct tfp_pytorch_layout *layout, const struct tfp_pytorch_api *api);

/*
 * Writes an op_inputs record with the shapes of the op's tensors, if it has any; of a convolution, which an op with "conv" in its
 * name is, the lists of numbers, too: they tell how large its result is. Inside a hook.
 */
void tfp_pytorch_put_inputs(struct tfp_thread *thread, struct tfp_lane *lane, uint64_t now, const uint8_t *function,
			    const char *name, const struct tfp_pytorch_api *api, const struct tfp_pytorch_layout *layout);

#endif

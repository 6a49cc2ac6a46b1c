/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves of managed memory between host and devices.
 *
 * Rule: only prefetches move it: the simulator cannot see which pages a kernel or the host touches.
 */
#include "inner.h"

#define CHUNK ((size_t)2 << 20)	/* one counter record covers at most this */

/* The records of one move, in chunks as a driver makes them. */
static void tell_moves(const struct sim_piece *piece)
{
	const struct sim_subscriber *subscriber = sim_subscriber();
	const struct sim_work *work = &piece->work;
	uint64_t address = (uint64_t)(uintptr_t)piece->target;
	bool is_to_device = piece->value != SIM_NONE;

	for (size_t done = 0; done < piece->width; done += CHUNK) {
		size_t bytes = piece->width - done < CHUNK ? piece->width - done : CHUNK;
		struct sim_unified move = {.kind = is_to_device ? 1 : 2, .value = bytes, .start = work->start, .end = work->end,
					   .address = address + done, .source = is_to_device ? SIM_NONE : (uint32_t)work->device,
					   .destination = (uint32_t)piece->value, .stream_id = work->stream_id,
					   .context_id = work->context_id};

		if (subscriber && subscriber->unified)
			subscriber->unified(&move);
	}
}

static void moved(struct sim_piece *piece)
{
	tell_moves(piece);
}

int sim_memory_prefetch(struct sim_stream *stream, uint64_t address, size_t bytes, int device)
{
	struct sim_place place;
	struct sim_piece *piece;
	bool is_there;
	int result = SIM_OK;

	sim_place_of(address, &place);
	if (place.kind != 5 || !bytes || address + bytes > place.base + place.bytes)
		return SIM_INVALID_VALUE;
	if (device >= sim_device_count())
		return SIM_INVALID_DEVICE;
	if (sim_capture_status(stream))
		return sim_capture_forbids(stream);
	sim_lock();
	is_there = place.block->is_on_device == (device >= 0);
	place.block->is_on_device = device >= 0;
	sim_unlock();
	if (is_there)
		return SIM_OK;
	piece = sim_piece_new(SIM_ACTION);
	piece->act = moved;
	piece->target = (void *)(uintptr_t)address;
	piece->width = bytes;
	piece->value = device < 0 ? SIM_NONE : (uint32_t)device;
	sim_submit(stream, piece, device < 0 ? SIM_TO_HOST : SIM_TO_DEVICE, 1200 + bytes * 1000 / 25000);
	return result;
}

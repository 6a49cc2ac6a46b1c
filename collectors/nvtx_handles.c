/* SPDX-License-Identifier: Apache-2.0 */
/* Domains and registered strings; see collectors/nvtx_handles.h. */
#include "collectors/nvtx_handles.h"

#include "collectors/ranges.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define ARENA_BYTES (8u << 20) /* touched as far as it is used: some 90,000 strings of 50 bytes */
#define KNOWN_SLOTS 65536      /* registered strings found again by their hash */
#define PROBES 16

struct arena {
	_Atomic uint32_t used, domains;
	_Atomic uint32_t known[KNOWN_SLOTS]; /* offset of a handle, 0 = free */
	_Alignas(16) uint8_t bytes[ARENA_BYTES];
};

static _Atomic(struct arena *) arena; /* kept across fork, as its pages are */

static struct arena *get_arena(void)
{
	struct arena *none = NULL, *found = arena;

	if (found)
		return found;
	found = tfp_pages_get(sizeof *found, 0);
	if (found && !__atomic_compare_exchange_n((struct arena **)&arena, &none, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		tfp_pages_put(found, sizeof *found);
		found = none;
	}
	return found;
}

/* A handle with its text, known to no log yet; NULL when there is no room. */
static struct tfp_nvtx_handle *make(struct arena *place, const char *text, size_t length)
{
	size_t kept = length < TFP_NAME_READ ? length : TFP_NAME_READ;
	uint32_t bytes = (uint32_t)((sizeof(struct tfp_nvtx_handle) + kept + 15) & ~(size_t)15);
	uint32_t at = place->used;

	do
		if (at + bytes > ARENA_BYTES)
			return NULL;
	while (!__atomic_compare_exchange_n((uint32_t *)&place->used, &at, at + bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	struct tfp_nvtx_handle *handle = (struct tfp_nvtx_handle *)(void *)(place->bytes + at);
	tfp_copy(handle->text, text, kept);
	handle->length = (uint32_t)kept;
	handle->hash = tfp_name_hash(text, kept);
	handle->is_step = (uint32_t)tfp_name_is_step(text, kept);
	return handle;
}

static struct tfp_nvtx_handle *at_slot(struct arena *place, uint32_t offset)
{
	return (struct tfp_nvtx_handle *)(void *)(place->bytes + offset - 1);
}

/* Its fact, in this log, once; two threads may both write it. */
static void tell(struct tfp_nvtx_handle *handle)
{
	if (handle->log_id == tfp_origin.log_id)
		return;
	if (handle->id)
		tfp_range_domain(handle->id, handle->text, handle->length, TFP_FROM_nvtx);
	else
		tfp_name_id(handle->text, handle->length);
	handle->log_id = tfp_origin.log_id;
}

struct tfp_nvtx_handle *tfp_nvtx_string_handle(const char *text, size_t length)
{
	struct arena *place = get_arena();
	struct tfp_nvtx_handle *made = NULL;
	uint64_t hash = tfp_name_hash(text, length);

	for (uint32_t i = 0; place && i < PROBES; i++) {
		uint32_t *slot = (uint32_t *)&place->known[(hash + i) % KNOWN_SLOTS], offset = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (offset && at_slot(place, offset)->hash == hash && at_slot(place, offset)->length == length)
			return at_slot(place, offset);
		if (offset)
			continue;
		made = make(place, text, length);
		if (made)
			__atomic_compare_exchange_n(slot, &offset, (uint32_t)((uint8_t *)made - place->bytes) + 1, 0,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		break;
	}
	if (place && !made)
		made = make(place, text, length); /* the probes met others: a handle that is not found again */
	if (!made)
		tfp_loss_note(TFP_LOSS_range_names);
	return made;
}

struct tfp_nvtx_handle *tfp_nvtx_domain_handle(const char *text, size_t length)
{
	struct arena *place = get_arena();
	struct tfp_nvtx_handle *handle = place ? make(place, text, length) : NULL;

	if (handle)
		handle->id = ++place->domains;
	else
		tfp_loss_note(TFP_LOSS_range_names);
	return handle;
}

const struct tfp_nvtx_handle *tfp_nvtx_known(const void *handle)
{
	struct arena *place = arena;

	if (!place || (uintptr_t)handle - (uintptr_t)place->bytes >= place->used || (uintptr_t)handle % 16)
		return NULL;
	struct tfp_nvtx_handle *known = (struct tfp_nvtx_handle *)(uintptr_t)handle;
	if (!tfp_self || tfp_self->is_ready != 1) /* a fork child's log must be there before it is told */
		tfp_thread_start();
	if (known->log_id != tfp_origin.log_id)
		tell(known);
	return known;
}

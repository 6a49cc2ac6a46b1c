/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver functions of texture and surface objects: handles that remember what they were made of.
 *
 * Rule: no kernel is computed, so none reads them.
 */
#include <string.h>

#include "driver.h"

/* The shorter of the runtime's and the driver's descriptions. */
enum { RESOURCE_BYTES = 64, TEXTURE_BYTES = 72 };

struct texture {
	uint32_t magic;
	bool is_surface;
	char resource[RESOURCE_BYTES], texture[TEXTURE_BYTES];
};

static struct texture *texture_of(uint64_t handle, bool is_surface)
{
	struct texture *texture = (struct texture *)(uintptr_t)handle;

	return sim_is_object(texture, SIM_MAGIC_TEXTURE) && texture->is_surface == is_surface ? texture : NULL;
}

static int make(uint64_t *object, const void *resource, const void *how)
{
	struct texture *texture;

	if (!object || !resource)
		return SIM_INVALID_VALUE;
	texture = sim_object_new(sizeof *texture);
	texture->magic = SIM_MAGIC_TEXTURE;
	texture->is_surface = !how;
	memcpy(texture->resource, resource, RESOURCE_BYTES);
	if (how)
		memcpy(texture->texture, how, TEXTURE_BYTES);
	*object = (uintptr_t)texture;
	return SIM_OK;
}

static int end(struct texture *texture)
{
	if (!texture)
		return SIM_INVALID_VALUE;
	texture->magic = SIM_MAGIC_DEAD;
	return SIM_OK;
}

static int tell(void *to, const void *what, size_t bytes)
{
	if (!to || !what)
		return SIM_INVALID_VALUE;
	memcpy(to, what, bytes);
	return SIM_OK;
}

int do_cuTexObjectCreate(uint64_t *object, void *resource, void *texture, void *view)
{
	(void)view;
	return texture ? make(object, resource, texture) : SIM_INVALID_VALUE;
}

int do_cuTexObjectDestroy(uint64_t object)
{
	return end(texture_of(object, false));
}

int do_cuTexObjectGetResourceDesc(void *resource, uint64_t object)
{
	const struct texture *texture = texture_of(object, false);

	return tell(resource, texture ? texture->resource : NULL, RESOURCE_BYTES);
}

int do_cuTexObjectGetTextureDesc(void *to, uint64_t object)
{
	const struct texture *texture = texture_of(object, false);

	return tell(to, texture ? texture->texture : NULL, TEXTURE_BYTES);
}

int do_cuSurfObjectCreate(uint64_t *object, void *resource)
{
	return make(object, resource, NULL);
}

int do_cuSurfObjectDestroy(uint64_t object)
{
	return end(texture_of(object, true));
}

int do_cuSurfObjectGetResourceDesc(void *resource, uint64_t object)
{
	const struct texture *texture = texture_of(object, true);

	return tell(resource, texture ? texture->resource : NULL, RESOURCE_BYTES);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HLO protos that an XPlane file carries: which framework op an XLA instruction was made from.
 *
 * Rule: memory follows the instructions; everything else of the proto is stepped over.
 */
#include "reducer/import/xplane.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers of xla.HloProto and what it holds. */
enum { PROTO_MODULE = 1, MODULE_COMPUTATION = 3, COMPUTATION_INSTRUCTION = 2 };
enum { INSTRUCTION_NAME = 1, INSTRUCTION_METADATA = 7, METADATA_TYPE = 1, METADATA_NAME = 2 };

static uint64_t key_of(uint64_t program, const char *name, size_t length)
{
	return base_hash(base_hash(BASE_HASH, &program, sizeof(program)), name, length);
}

static bool is_hash(const void *context, const void *key, uint32_t number)
{
	return ((const struct xplane *)context)->hlo_ops[number].hash == *(const uint64_t *)key;
}

/* Appends a text of the file to the hlo texts. */
static void append(struct xplane *xplane, const struct stretch *bytes)
{
	size_t got;
	const char *text = wire_text(xplane->source, bytes, 4096, &got);

	text_put(&xplane->hlo, text, got);
}

static void take_instruction(struct xplane *xplane, uint64_t program, struct stretch message)
{
	struct stretch name = {0, 0}, metadata = {0, 0}, op = {0, 0}, type = {0, 0};
	struct wire_field field;
	size_t got, at = xplane->hlo.length;

	while (wire_next(xplane->source, &message, &field) > 0)
		if (field.type == WIRE_BYTES && field.number == INSTRUCTION_NAME)
			name = field.bytes;
		else if (field.type == WIRE_BYTES && field.number == INSTRUCTION_METADATA)
			metadata = field.bytes;
	while (wire_next(xplane->source, &metadata, &field) > 0)
		if (field.type == WIRE_BYTES && field.number == METADATA_NAME)
			op = field.bytes;
		else if (field.type == WIRE_BYTES && field.number == METADATA_TYPE)
			type = field.bytes;
	if (op.at == op.end)
		return;
	append(xplane, &op);
	text_char(&xplane->hlo, ':');
	append(xplane, &type);
	text_char(&xplane->hlo, 0);
	const char *text = wire_text(xplane->source, &name, 4096, &got);
	uint64_t hash = key_of(program, text, got);
	if (base_index_find(&xplane->hlo_of, hash, is_hash, xplane, &hash) != UINT32_MAX)
		return;
	xplane->hlo_ops = base_grow(xplane->hlo_ops, &xplane->hlo_room, xplane->hlo_count + 1, sizeof(*xplane->hlo_ops));
	xplane->hlo_ops[xplane->hlo_count] = (struct xplane_hlo){hash, at};
	base_index_add(&xplane->hlo_of, hash, (uint32_t)xplane->hlo_count++);
}

static void take_computation(struct xplane *xplane, uint64_t program, struct stretch message)
{
	struct wire_field field;

	while (wire_next(xplane->source, &message, &field) > 0)
		if (field.number == COMPUTATION_INSTRUCTION && field.type == WIRE_BYTES)
			take_instruction(xplane, program, field.bytes);
}

void xplane_hlo_take(struct xplane *xplane, uint64_t program, const struct stretch *proto)
{
	struct stretch message = *proto, module = {0, 0};
	struct wire_field field;

	while (wire_next(xplane->source, &message, &field) > 0)
		if (field.number == PROTO_MODULE && field.type == WIRE_BYTES)
			module = field.bytes;
	while (wire_next(xplane->source, &module, &field) > 0)
		if (field.number == MODULE_COMPUTATION && field.type == WIRE_BYTES)
			take_computation(xplane, program, field.bytes);
}

const char *xplane_hlo_op(const struct xplane *xplane, uint64_t program, const char *name, size_t length)
{
	uint64_t hash = key_of(program, name, length);
	uint32_t number = base_index_find(&xplane->hlo_of, hash, is_hash, xplane, &hash);

	return number == UINT32_MAX ? NULL : xplane->hlo.bytes + xplane->hlo_ops[number].op;
}

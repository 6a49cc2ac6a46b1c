/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a cubin: its kernels with registers, shared and local memory and parameters, and its global variables.
 *
 *	.text.NAME			code of a kernel or a device function; symbols with the entry bit are kernels
 *	.nv.shared.NAME			size = static shared memory
 *	.nv.info			attributes: registers (0x2f), frame size (0x11), each {symbol, value}
 *	.nv.info.NAME			attributes: parameters (0x17), most threads (0x05)
 *
 * Rule: every offset is checked against the image's size; what cannot be read stays at its default.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "inner.h"

#define ENTRY_BIT 0x10		/* in st_other: the function is a kernel */
#define ATTRIBUTE_SIZED 4	/* an attribute whose payload has a size */

struct reader {
	const char *data;
	size_t size;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	const char *names;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *symbol_names;
	struct sim_module *module;
};

static const void *range(const struct reader *reader, uint64_t offset, uint64_t bytes)
{
	return offset <= reader->size && bytes <= reader->size - offset ? reader->data + offset : NULL;
}

static bool open_image(struct reader *reader)
{
	reader->head = range(reader, 0, sizeof *reader->head);
	if (!reader->head || memcmp(reader->head->e_ident, ELFMAG, SELFMAG))
		return false;
	reader->sections = range(reader, reader->head->e_shoff, (uint64_t)reader->head->e_shnum * sizeof *reader->sections);
	if (!reader->sections || reader->head->e_shstrndx >= reader->head->e_shnum)
		return false;
	reader->names = reader->data + reader->sections[reader->head->e_shstrndx].sh_offset;
	for (int i = 0; i < reader->head->e_shnum; i++) {
		const Elf64_Shdr *section = &reader->sections[i];

		if (section->sh_type != SHT_SYMTAB || section->sh_link >= reader->head->e_shnum)
			continue;
		reader->symbols = range(reader, section->sh_offset, section->sh_size);
		reader->symbol_count = section->sh_size / sizeof *reader->symbols;
		reader->symbol_names = reader->data + reader->sections[section->sh_link].sh_offset;
	}
	return reader->symbols != NULL;
}

static struct sim_function *function_at(const struct reader *reader, uint32_t index)
{
	struct sim_function *function = reader->module->functions;

	while (function && function->index != index)
		function = function->next;
	return function;
}

static void add_symbols(const struct reader *reader)
{
	for (size_t i = 0; i < reader->symbol_count; i++) {
		const Elf64_Sym *symbol = &reader->symbols[i];
		const char *name = reader->symbol_names + symbol->st_name;

		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & ENTRY_BIT) {
			struct sim_function *function = sim_object_new(sizeof *function);

			*function = (struct sim_function){.magic = SIM_MAGIC_FUNCTION, .module = reader->module, .name = name,
							  .next = reader->module->functions, .index = (uint32_t)i,
							  .registers = 16, .max_threads = 1024};
			reader->module->functions = function;
		} else if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx && symbol->st_shndx < reader->head->e_shnum &&
			   !strncmp(reader->names + reader->sections[symbol->st_shndx].sh_name, ".nv.", 4)) {
			struct sim_variable *variable = sim_allocate(sizeof *variable);

			*variable = (struct sim_variable){.next = reader->module->variables, .name = name, .bytes = symbol->st_size};
			reader->module->variables = variable;
		}
	}
}

static void take_parameter(struct sim_function *function, const char *payload)
{
	uint32_t place, sizes;
	uint16_t ordinal, offset;

	memcpy(&place, payload, 4);
	memcpy(&ordinal, payload + 4, 2);
	memcpy(&offset, payload + 6, 2);
	memcpy(&sizes, payload + 8, 4);
	if (ordinal >= 64)
		return;
	function->parameter_offsets[ordinal] = offset;
	function->parameter_sizes[ordinal] = sizes >> 18;
	if (ordinal >= function->parameter_count)
		function->parameter_count = ordinal + 1u;
}

static void take_attribute(const struct reader *reader, struct sim_function *of, int attribute, const char *payload, size_t size)
{
	struct sim_function *function;
	uint32_t words[3] = {0};

	memcpy(words, payload, size < sizeof words ? size : sizeof words);
	if (of && attribute == 0x17 && size >= 12)
		take_parameter(of, payload);
	else if (of && attribute == 0x05 && size >= 12)
		of->max_threads = words[0] * words[1] * words[2];
	else if (!of && size >= 8 && (function = function_at(reader, words[0]))) {
		if (attribute == 0x2f)
			function->registers = words[1];
		else if (attribute == 0x11)
			function->local_bytes = words[1];
	}
}

static void read_attributes(const struct reader *reader, const Elf64_Shdr *section, struct sim_function *of)
{
	const char *at = range(reader, section->sh_offset, section->sh_size);
	const char *end = at ? at + section->sh_size : at;

	while (at && at + 4 <= end) {
		uint16_t value;

		memcpy(&value, at + 2, 2);
		if (at[0] != ATTRIBUTE_SIZED) {
			at += 4;
			continue;
		}
		if (at + 4 + value > end)
			return;
		take_attribute(reader, of, (unsigned char)at[1], at + 4, value);
		at += 4 + value;
	}
}

static struct sim_function *function_named(const struct reader *reader, const char *name)
{
	struct sim_function *function = reader->module->functions;

	while (function && strcmp(function->name, name))
		function = function->next;
	return function;
}

int sim_elf_read(struct sim_module *module)
{
	struct reader reader = {.data = module->cubin, .size = module->cubin_size, .module = module};
	struct sim_function *function;

	if (!open_image(&reader))
		return SIM_INVALID_IMAGE;
	add_symbols(&reader);
	for (int i = 0; i < reader.head->e_shnum; i++) {
		const Elf64_Shdr *section = &reader.sections[i];
		const char *name = reader.names + section->sh_name;

		if (!strcmp(name, ".nv.info"))
			read_attributes(&reader, section, NULL);
		else if (!strncmp(name, ".nv.info.", 9) && (function = function_named(&reader, name + 9)))
			read_attributes(&reader, section, function);
		else if (!strncmp(name, ".nv.shared.", 11) && (function = function_named(&reader, name + 11)))
			function->static_shared = (uint32_t)section->sh_size;
	}
	return SIM_OK;
}

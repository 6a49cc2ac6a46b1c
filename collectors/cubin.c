/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading cubins; see collectors/cubin.h.
 *
 * From compute capability 7.0 on an instruction has 16 bytes, and the low 9 bits of its first word say which operation it
 * is (the 3 bits above say what its operands are). Which numbers are matrix instructions was found by compiling each of PTX's
 * for each architecture and reading what NVIDIA's disassembler makes of them; test/cases/gpu-cubin does that again.
 */
#include "collectors/cubin.h"

#include "collectors/cupti_state.h"

#include "writer/records.h"
#include "writer/sys.h"

#include "writer/poison.h"

#define MACHINE_CUDA 190u
#define INSTRUCTION_BYTES 16u
#define CODE_BYTES (32u << 20)  /* of one image; the largest modules of cuBLAS, loaded whole, have more */
#define MODULE_DIVISOR 20u      /* of a second: 50 ms for one module */
#define CODE_FACTS 65536u       /* of a process: 8 MB of the log */
#define CODE_NAME 4096u         /* bytes of a name: longer ones are passed over */

/* Operation, and the architectures where that number means it. */
static const struct matrix {
	uint16_t operation;
	uint8_t from, to; /* compute capability times ten */
} matrix[] = {
	{0x036, 70, 75},   /* HMMA.884; VIADD on 90 */
	{0x037, 72, 255},  /* IMMA */
	{0x03c, 75, 255},  /* HMMA */
	{0x03d, 75, 255},  /* BMMA */
	{0x03f, 80, 255},  /* DMMA */
	{0x07a, 89, 255},  /* QMMA */
	{0x07f, 120, 255}, /* OMMA */
	{0x1f0, 90, 90},   /* HGMMA */
	{0x1f1, 90, 90},   /* IGMMA */
	{0x1f2, 90, 90},   /* BGMMA */
	{0x1f3, 90, 90},   /* QGMMA */
	{0x1ea, 100, 119}, /* UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA */
};

struct elf_header {
	uint8_t magic[4], class, data, version, os, abi, unused[7];
	uint16_t type, machine;
	uint32_t version2;
	uint64_t entry, program_at, sections_at;
	uint32_t flags;
	uint16_t bytes, program_bytes, program_count, section_bytes, section_count, names_section;
};

struct elf_section {
	uint32_t name, type;
	uint64_t flags, address, at, bytes;
	uint32_t link, info;
	uint64_t alignment, entry_bytes;
};

struct image {
	const uint8_t *start;
	size_t bytes;
	uint32_t architecture;
	uint8_t is_matrix[512]; /* by operation */
	uint64_t sections_at;
	uint32_t section_count;
	struct elf_section names;
};

static int is_inside(const struct image *image, uint64_t at, uint64_t bytes)
{
	return at <= image->bytes && bytes <= image->bytes - at;
}

static int read_section(const struct image *image, uint32_t index, struct elf_section *section)
{
	uint64_t at = image->sections_at + (uint64_t)index * sizeof *section;

	if (index >= image->section_count || !is_inside(image, at, sizeof *section))
		return -1;
	tfp_copy(section, image->start + at, sizeof *section);
	return section->type == 8 /* SHT_NOBITS */ || is_inside(image, section->at, section->bytes) ? 0 : -1;
}

/* Up to CUDA 12 the low byte of the flags is the architecture; with the ABI of CUDA 13 the one above it. */
static uint32_t architecture_of(const struct elf_header *header)
{
	return header->abi >= 8 ? header->flags >> 8 & 0xff : header->flags & 0xff;
}

static int open_image(struct image *image, const void *start, size_t bytes)
{
	struct elf_header header;

	image->start = start;
	image->bytes = bytes;
	if (bytes < sizeof header)
		return -1;
	tfp_copy(&header, start, sizeof header);
	if (!tfp_same(header.magic, "\177ELF", 4) || header.class != 2 || header.data != 1 || header.machine != MACHINE_CUDA ||
	    header.section_bytes != sizeof(struct elf_section) || header.sections_at > bytes)
		return -1;
	image->architecture = architecture_of(&header);
	image->sections_at = header.sections_at;
	image->section_count = header.section_count;
	if (image->architecture < 70 || read_section(image, header.names_section, &image->names) || image->names.type == 8)
		return -1;
	tfp_fill(image->is_matrix, 0, sizeof image->is_matrix);
	for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++)
		if (image->architecture >= matrix[i].from && image->architecture <= matrix[i].to)
			image->is_matrix[matrix[i].operation] = 1;
	return 0;
}

/* The rest of a section name behind ".text."; its length, or 0: it is no code. */
static size_t name_of_code(const struct image *image, const struct elf_section *section, const char **name)
{
	static const char prefix[] = ".text.";
	const char *from = (const char *)image->start + image->names.at + section->name;
	size_t length = 0;

	if (section->name >= image->names.bytes)
		return 0;
	while (length < image->names.bytes - section->name && from[length] && length < CODE_NAME + sizeof prefix)
		length++;
	if (length < sizeof prefix || !tfp_same(from, prefix, sizeof prefix - 1) || length >= CODE_NAME)
		return 0;
	*name = from + sizeof prefix - 1;
	return length - (sizeof prefix - 1);
}

static void count_code(const struct image *image, const struct elf_section *section, struct tfp_cubin_function *function)
{
	const uint8_t *at = image->start + section->at, *end = at + section->bytes / INSTRUCTION_BYTES * INSTRUCTION_BYTES;

	function->instructions = section->bytes / INSTRUCTION_BYTES;
	for (; at < end; at += INSTRUCTION_BYTES)
		function->matrix += image->is_matrix[at[0] | (at[1] & 1u) << 8];
}

int tfp_cubin_scan(const void *start, size_t bytes, tfp_cubin_found *found, void *context)
{
	struct image image;
	struct elf_section section;

	if (open_image(&image, start, bytes))
		return -1;
	for (uint32_t i = 1; i < image.section_count; i++) {
		struct tfp_cubin_function function = {.architecture = image.architecture};
		if (read_section(&image, i, &section) || section.type != 1 /* SHT_PROGBITS */)
			continue;
		function.length = name_of_code(&image, &section, &function.name);
		if (!function.length)
			continue;
		count_code(&image, &section, &function);
		if (found(context, &function))
			return 1;
	}
	return 0;
}

struct note {
	struct tfp_cupti *cupti;
	uint32_t module;
	uint64_t begin;
};

#define NUMBER(value) {.number = (uint64_t)(value)}

static int note_function(void *context, const struct tfp_cubin_function *function)
{
	const struct note *note = context;
	const struct tfp_fact_field fields[] = {
		NUMBER(note->module),
		{.is_text = 1, .text = {function->name, function->length}},
		NUMBER(function->architecture),
		NUMBER(function->instructions),
		NUMBER(function->matrix),
	};

	if (++note->cupti->code_facts > CODE_FACTS || tfp_ticks() - note->begin > tfp_state->second_ticks / MODULE_DIVISOR)
		return 1;
	tfp_store_fact(TFP_TAG_code, fields, sizeof fields / sizeof fields[0]);
	return 0;
}

void tfp_cubin_note(struct tfp_cupti *cupti, const struct tfp_cupti_module_data *module)
{
	struct note note = {cupti, module->module, tfp_ticks()};
	int is_cut = 1;

	/* A second in all: what is loaded later is read by name alone. */
	if (module->cubin && module->bytes <= CODE_BYTES && cupti->code_ticks < tfp_state->second_ticks)
		is_cut = tfp_cubin_scan(module->cubin, module->bytes, note_function, &note);
	cupti->code_ticks += tfp_ticks() - note.begin;
	if (is_cut)
		tfp_loss_note(TFP_LOSS_code_skipped);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, lines and inlined functions from DWARF.
 *
 * Rule: a compile unit is entered only if it holds an asked address, and its tree is walked once for all of them
 * (libdw's own scope search walks it once for each), twice where functions lie inside of types or of functions whose code is elsewhere.
 * Depths are bounded: the file is not trusted.
 */
#include "reducer/symbols/internal.h"

#include "reducer/symbols/demangle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 256 /* nested blocks; compilers stay below 100 */
#define FILES_FROM_ZERO 5 /* version of DWARF: file 0 is the unit's own; before, it is none */

/* The functions that hold one address, outermost first. */
struct chain {
	size_t count;
	Dwarf_Die dies[FRAMES_MAX];
};

/* Work on one compile unit. Addresses of the batch, shifted by `bias`, give those of the DWARF data. */
struct unit {
	const struct lookup_batch *batch;
	const struct names *names;
	Dwarf_Addr bias;
	Dwarf_Die die; /* with the line table */
	Dwarf_Half version;
	size_t *hits;  /* places in the batch, ascending */
	size_t hit_count, hit_room;
	struct chain *chains; /* one a hit */
	bool is_thorough;     /* the second walk, which enters what holds none of the hits itself */
	lines_answer *answer;
	void *context;
	bool *is_done; /* one an address of the batch */
};

static uint64_t hit_address(const struct unit *unit, size_t hit)
{
	return unit->batch->addresses[unit->hits[hit]] + unit->bias;
}

/* First hit at or after `address`. */
static size_t hit_from(const struct unit *unit, Dwarf_Addr address)
{
	size_t low = 0, high = unit->hit_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (hit_address(unit, middle) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void chain_enter(struct chain *chain, Dwarf_Die *die, int tag)
{
	if (tag == DW_TAG_subprogram)
		chain->count = 0;
	if (chain->count < FRAMES_MAX)
		chain->dies[chain->count++] = *die;
}

/* Notes `die` with every hit inside its ranges; true when there was one. Blocks are looked into, not noted. */
static bool note_ranges(struct unit *unit, Dwarf_Die *die, int tag)
{
	bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0)
		for (size_t i = hit_from(unit, start); i < unit->hit_count && hit_address(unit, i) < end; i++) {
			any = true;
			if (is_function)
				chain_enter(&unit->chains[i], die, tag);
		}
	return any;
}

static bool is_worth_entering(struct unit *unit, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return unit->is_thorough;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return note_ranges(unit, die, tag) || unit->is_thorough;
	default:
		return false;
	}
}

static void walk(struct unit *unit, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (is_worth_entering(unit, &die))
			walk(unit, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* The name of a function; demangled into *out. False when it has none. */
static bool die_name(Dwarf_Die *die, struct text *out)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = NULL;
		if (dwarf_attr_integrate(die, names[i], &attribute))
			name = dwarf_formstring(&attribute);
		if (!name || !name[0])
			continue;
		demangle(name, out);
		return true;
	}
	return false;
}

static Dwarf_Word die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

/* Where the inlined function `die` was called: file and line. */
static void call_site(struct unit *unit, Dwarf_Die *die, struct lookup_frame *frame)
{
	Dwarf_Word file = die_number(die, DW_AT_call_file);
	bool is_known = file || (unit->version >= FILES_FROM_ZERO && dwarf_hasattr(die, DW_AT_call_file));
	Dwarf_Files *files;
	size_t count;

	frame->line = (uint32_t)die_number(die, DW_AT_call_line);
	if (is_known && dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && file < count)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void line_of(struct unit *unit, Dwarf_Addr address, struct lookup_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	if (!line)
		return;
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
	frame->file = dwarf_linesrc(line, NULL, NULL);
}

/* The outermost function's name: the linker's, unless only DWARF has one. */
static bool outer_name(const struct unit *unit, size_t hit, Dwarf_Die *die, struct text *out)
{
	uint64_t offset;
	bool is_near = true;
	const char *symbol;

	if (dwarf_hasattr_integrate(die, DW_AT_linkage_name) && die_name(die, out))
		return true;
	symbol = names_find(unit->names, unit->hits[hit], &offset, &is_near);
	if (symbol && !is_near && symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R') && demangle(symbol, out))
		return true;
	return die_name(die, out);
}

/* A function that the compiler split and inlined back into itself: "called" at its own first line. */
static bool is_split(Dwarf_Die *inner, Dwarf_Die *outer)
{
	const char *inner_name = dwarf_diename(inner), *outer_name = dwarf_diename(outer);
	int line = 0;

	return inner_name && outer_name && strcmp(inner_name, outer_name) == 0 && dwarf_decl_line(outer, &line) == 0 &&
	       die_number(inner, DW_AT_call_line) == (Dwarf_Word)line;
}

/* Names the frame of one function of a chain. */
static void name_frame(const struct unit *unit, size_t hit, size_t i, struct lookup_frame *frame, struct text *name)
{
	struct chain *chain = &unit->chains[hit];
	bool is_outer = i == 0;

	if (is_outer ? outer_name(unit, hit, &chain->dies[i], name) : die_name(&chain->dies[i], name))
		frame->flags = LOOKUP_NAMED;
	frame->function = name->bytes;
	if (!is_outer)
		frame->flags |= LOOKUP_INLINED;
}

/* Answers one hit: its chain from the inside out, each frame's line being where the one inside it was called. */
static void answer_hit(struct unit *unit, size_t hit)
{
	struct chain *chain = &unit->chains[hit];
	struct lookup_frame frames[FRAMES_MAX] = {0};
	struct text names[FRAMES_MAX] = {0};
	size_t count = 0;

	line_of(unit, hit_address(unit, hit), &frames[0]);
	for (size_t i = chain->count; i-- > 0;) {
		if (i > 0 && is_split(&chain->dies[i], &chain->dies[i - 1]))
			continue; /* the frame outside stands for both, with the line inside */
		name_frame(unit, hit, i, &frames[count], &names[count]);
		if (i > 0)
			call_site(unit, &chain->dies[i], &frames[count + 1]);
		count++;
	}
	unit->is_done[unit->hits[hit]] = true;
	unit->answer(unit->context, unit->hits[hit], frames, count);
	for (size_t i = 0; i < count; i++)
		text_free(&names[i]);
}

/* Of code without a function in the unit's tree (assembly, clang's -gline-tables-only) the line table knows the line. */
static void answer_line(struct unit *unit, size_t hit)
{
	struct lookup_frame frame = {0};
	struct text name = {0};

	line_of(unit, hit_address(unit, hit), &frame);
	if (frame.line && names_frame(unit->names, unit->hits[hit], &name, &frame))
		unit->answer(unit->context, unit->hits[hit], &frame, 1); /* not done: another unit may know more */
	text_free(&name);
}

static bool has_strays(const struct unit *unit)
{
	for (size_t i = 0; i < unit->hit_count; i++)
		if (!unit->chains[i].count)
			return true;
	return false;
}

/*
 * Methods of a function's own types, lambdas among them, and functions inside of functions (gcc without optimisation, Fortran) stand in
 * the tree inside of what does not hold their code.
 */
static void walk_unit(struct unit *unit, Dwarf_Die *tree)
{
	unit->is_thorough = false;
	walk(unit, tree, 0);
	unit->is_thorough = has_strays(unit);
	if (unit->is_thorough)
		walk(unit, tree, 0);
}

/* Which asked addresses does this unit hold? */
static void unit_hits(struct unit *unit, const struct lookup_batch *batch)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	unit->hit_count = 0;
	while ((next = dwarf_ranges(&unit->die, next, &base, &start, &end)) > 0) {
		size_t low = 0, high = batch->count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (batch->addresses[middle] + unit->bias < start)
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < batch->count && batch->addresses[low] + unit->bias < end; low++) {
			if (unit->is_done[low])
				continue;
			unit->hits = base_grow(unit->hits, &unit->hit_room, unit->hit_count + 1, sizeof(*unit->hits));
			unit->hits[unit->hit_count++] = low;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* `is_whole`: the tree is all there is; the part that a file of its own has (split DWARF) may be missing. */
static void unit_resolve(struct unit *unit, Dwarf_Die *tree, bool is_whole)
{
	unit_hits(unit, unit->batch);
	if (!unit->hit_count)
		return;
	qsort(unit->hits, unit->hit_count, sizeof(*unit->hits), by_place);
	unit->chains = base_alloc(unit->hit_count, sizeof(*unit->chains));
	walk_unit(unit, tree);
	for (size_t i = 0; i < unit->hit_count; i++) {
		if (i != 0 && unit->hits[i] == unit->hits[i - 1])
			continue;
		if (unit->chains[i].count)
			answer_hit(unit, i);
		else if (is_whole)
			answer_line(unit, i);
	}
	free(unit->chains);
	unit->chains = NULL;
}

void lines_resolve(Dwfl_Module *module, const struct names *names, const struct lookup_batch *batch, lines_answer *answer,
		   void *context)
{
	struct unit unit = {.batch = batch, .names = names, .answer = answer, .context = context};
	Dwarf_Addr dwarf_bias = 0;
	GElf_Addr elf_bias = 0;
	Dwarf *dwarf = dwfl_module_getdwarf(module, &dwarf_bias);
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die split;

	if (!dwarf)
		return;
	dwfl_module_getelf(module, &elf_bias);
	unit.bias = elf_bias - dwarf_bias;
	unit.is_done = base_alloc(batch->count, sizeof(*unit.is_done));
	while (dwarf_get_units(dwarf, cu, &cu, &unit.version, &type, &unit.die, &split) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			unit_resolve(&unit, type == DW_UT_skeleton && split.addr ? &split : &unit.die, type == DW_UT_compile || split.addr);
	free(unit.hits);
	free(unit.is_done);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A time line in bounded memory; see digest.h. Rule: items are merged in one place, merge_into; the rest decides which. */
#include "reducer/trace/digest.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MOST 8192u /* further threads, streams and depths of a process share one row */
#define GRAIN_FIRST 64u /* ns */
#define GRAIN_LAST (UINT64_C(1) << 62)
#define DEPTH_MOST 63u /* deeper ones share a row */
/* Lanes of a thread, for what has no depth: it is packed where it is drawn. */
enum { LANE_OPEN, LANE_TRACES, LANE_READS };
#define ROW_SHARED UINT32_MAX /* its track */
#define RECENT 1024u	      /* a power of two */
#define RECENT_ARGUMENTS 5	      /* most of a call or kernel whose texts are remembered */

/* What the texts of a call or kernel were made from, and their places; its texts live as long as the pass over its process. */
struct digest_recent {
	const char *name, *op, *range;
	struct span_argument arguments[RECENT_ARGUMENTS];
	size_t argument_count, process;
	uint32_t name_place, detail_place;
	uint8_t what, is_known;
};

/* The same by the number that tells calls and kernels alike. */
struct digest_alike {
	uint64_t alike; /* span.alike, 0 = none */
	size_t process;
	uint32_t name_place, detail_place;
};

struct digest_alike_row {
	uint64_t alike, process; /* of the span; alike 0 = none */
	uint32_t lane, row;
};

void digest_start(struct digest *digest, size_t most_items, size_t most_bytes)
{
	struct text nothing = {0};

	*digest =
		(struct digest){.most_items = most_items, .most_bytes = most_bytes, .name_most = DIGEST_NAME_MOST,
				.first_ns = INT64_MAX, .last_ns = INT64_MIN};
	digest_names_place(&digest->names, &nothing);
	digest_names_place(&digest->details, &nothing);
	digest->recent = base_alloc(RECENT, sizeof *digest->recent);
	digest->alikes = base_alloc(RECENT, sizeof *digest->alikes);
	digest->alike_rows = base_alloc(RECENT, sizeof *digest->alike_rows);
}

void digest_free(struct digest *digest)
{
	digest_names_free(&digest->names);
	digest_names_free(&digest->details);
	number_map_free(&digest->row_places);
	free(digest->rows);
	free(digest->items);
	free(digest->recent);
	free(digest->alikes);
	free(digest->alike_rows);
	text_free(&digest->scratch);
}

void digest_look_at(struct digest *digest, int64_t from_ns, int64_t to_ns, const char *why)
{
	struct digest_window window = {.from_ns = from_ns, .to_ns = to_ns};
	size_t at = digest->window_count;

	if (at == DIGEST_WINDOWS || to_ns <= from_ns)
		return;
	for (size_t i = 0; i < digest->window_count; i++)
		if (from_ns < digest->windows[i].to_ns && digest->windows[i].from_ns < to_ns)
			return;
	while (at > 0 && digest->windows[at - 1].from_ns > from_ns) {
		digest->windows[at] = digest->windows[at - 1];
		at--;
	}
	strncpy(window.why, why, sizeof window.why - 1);
	digest->windows[at] = window;
	digest->window_count++;
}

/* How many windows begin before this time; *is_inside: the last of them has not ended. */
static size_t windows_before(const struct digest *digest, int64_t ns, int *is_inside)
{
	size_t before = 0;

	while (before < digest->window_count && digest->windows[before].from_ns <= ns)
		before++;
	*is_inside = before > 0 && ns < digest->windows[before - 1].to_ns;
	return before;
}

/* Whether an item may become a part of another one. */
static int is_small(const struct digest *digest, const struct digest_item *item)
{
	int is_inside;

	windows_before(digest, item->start_ns, &is_inside);
	return item->duration_ns < digest->grain_ns && (!is_inside || item->count > 1);
}

/* Which stretch of a grain a time lies in; that around 0 is two, which the callers part. */
static uint64_t stretch_of(int64_t ns, unsigned grain_bits)
{
	return (ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) >> grain_bits;
}

/* Whether two small items of one row belong to one stretch: the same grain, a power of two, and no window begins between them. */
static int is_same_stretch(const struct digest *digest, const struct digest_item *one, const struct digest_item *other)
{
	unsigned bits = (unsigned)__builtin_ctzll(digest->grain_ns);
	int ignored;

	return (one->start_ns >= 0) == (other->start_ns >= 0) && stretch_of(one->start_ns, bits) == stretch_of(other->start_ns, bits) &&
	       windows_before(digest, one->start_ns, &ignored) == windows_before(digest, other->start_ns, &ignored);
}

static void merge_into(struct digest_item *into, const struct digest_item *item)
{
	int64_t end = into->start_ns + (int64_t)into->duration_ns, other = item->start_ns + (int64_t)item->duration_ns;

	if (item->longest_ns > into->longest_ns) {
		into->longest_ns = item->longest_ns;
		into->name = item->name;
		into->detail = item->detail;
		into->flow = item->flow;
	}
	if (item->value > into->value)
		into->value = item->value;
	into->start_ns = item->start_ns < into->start_ns ? item->start_ns : into->start_ns;
	into->duration_ns = (uint64_t)((other > end ? other : end) - into->start_ns);
	into->busy_ns += item->busy_ns;
	into->count = into->count > UINT32_MAX - item->count ? UINT32_MAX : into->count + item->count;
	into->is_open |= item->is_open;
}

static int by_row_and_start(const void *left, const void *right)
{
	const struct digest_item *one = left, *other = right;

	if (one->row != other->row)
		return one->row < other->row ? -1 : 1;
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	if (one->duration_ns != other->duration_ns)
		return one->duration_ns > other->duration_ns ? -1 : 1;
	if (one->name != other->name)
		return one->name < other->name ? -1 : 1;
	return one->flow < other->flow ? -1 : one->flow > other->flow;
}

/* Moves the item from place order[i] to place i, for all i; `order` is used up. */
static void put_in_order(struct digest_item *items, uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (order[i] == i)
			continue;
		struct digest_item first = items[i];
		uint32_t at = i, from;

		while ((from = order[at]) != i) {
			items[at] = items[from];
			order[at] = at;
			at = from;
		}
		items[at] = first;
		order[at] = at;
	}
}

/* Row by row, in each as they came, which most often is by start. */
static void sort_rows(struct digest *digest)
{
	uint32_t *order = base_alloc(digest->count + 1, sizeof *order), at = 0;

	for (size_t i = 0; i < digest->row_count; i++)
		digest->rows[i].count = 0;
	for (size_t i = 0; i < digest->count; i++)
		digest->rows[digest->items[i].row].count++;
	for (size_t i = 0; i < digest->row_count; i++) {
		digest->rows[i].first = at;
		at += (uint32_t)digest->rows[i].count;
	}
	for (size_t i = 0; i < digest->count; i++)
		order[digest->rows[digest->items[i].row].first++] = (uint32_t)i;
	put_in_order(digest->items, order, (uint32_t)digest->count);
	free(order);
}

static int is_sorted(const struct digest_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (by_row_and_start(&items[i - 1], &items[i]) > 0)
			return 0;
	return 1;
}

static void sort_items(struct digest *digest)
{
	struct digest_item *items = digest->items;

	sort_rows(digest);
	for (size_t i = 0; i < digest->row_count; items += digest->rows[i++].count)
		if (!is_sorted(items, digest->rows[i].count))
			qsort(items, digest->rows[i].count, sizeof *items, by_row_and_start);
}

/* Sorts, and merges what the grain and the windows let merge. */
static void sort_and_merge(struct digest *digest)
{
	size_t kept = 0, block = SIZE_MAX;

	sort_items(digest);
	for (size_t i = 0; i < digest->count; i++) {
		const struct digest_item *item = &digest->items[i];
		int is_candidate = digest->grain_ns && is_small(digest, item);
		if (is_candidate && block != SIZE_MAX && digest->items[block].row == item->row &&
		    is_same_stretch(digest, &digest->items[block], item)) {
			merge_into(&digest->items[block], item);
			continue;
		}
		if (is_candidate)
			block = kept;
		if (kept < i)
			digest->items[kept] = *item;
		kept++;
	}
	digest->count = kept;
	for (size_t i = 0; i < digest->row_count; i++)
		digest->rows[i].block = SIZE_MAX;
}

/* Forgets texts that no item names any more. */
static void names_sweep(struct digest *digest, int is_detail)
{
	struct digest_names *names = is_detail ? &digest->details : &digest->names, left = {0};
	uint32_t *places = base_alloc(names->count, sizeof *places);

	digest_names_keep(&left, &names->items[0], digest->name_most);
	for (size_t i = 0; i < digest->count + (is_detail ? 0 : digest->row_count); i++) {
		uint32_t *place = i >= digest->count ? &digest->rows[i - digest->count].name
				  : is_detail	     ? &digest->items[i].detail
						     : &digest->items[i].name;
		if (*place != 0 && places[*place] == 0)
			places[*place] = digest_names_keep(&left, &names->items[*place], digest->name_most);
		*place = places[*place];
	}
	free(places);
	digest_names_free(names);
	*names = left;
	memset(digest->recent, 0, RECENT * sizeof *digest->recent); /* places have changed */
	memset(digest->alikes, 0, RECENT * sizeof *digest->alikes);
}

static size_t inside_windows(const struct digest *digest)
{
	size_t count = 0;
	int is_inside;

	for (size_t i = 0; i < digest->count; i++) {
		windows_before(digest, digest->items[i].start_ns, &is_inside);
		count += is_inside && digest->items[i].duration_ns < digest->grain_ns;
	}
	return count;
}

/* Wider grain, or where the windows hold more than half of what is left, windows half as wide. */
static int give_up_detail(struct digest *digest)
{
	if (digest->grain_ns && digest->window_count && inside_windows(digest) > digest->count / 2) {
		for (size_t i = 0; i < digest->window_count; i++)
			digest->windows[i].to_ns -= (digest->windows[i].to_ns - digest->windows[i].from_ns) / 2;
		while (digest->window_count && digest->windows[0].to_ns - digest->windows[0].from_ns < 2)
			memmove(digest->windows, digest->windows + 1, --digest->window_count * sizeof *digest->windows);
	} else if (digest->grain_ns >= GRAIN_LAST) {
		return 0;
	} else {
		digest->grain_ns = digest->grain_ns ? digest->grain_ns * 2 : GRAIN_FIRST;
	}
	sort_and_merge(digest);
	return 1;
}

static size_t sweep(struct digest *digest)
{
	names_sweep(digest, 0);
	names_sweep(digest, 1);
	return digest->names.bytes + digest->details.bytes;
}

/* For the next sweep; returns 0 when they are as short as they may be. */
static int shorten_names(struct digest *digest)
{
	if (digest->name_most <= DIGEST_NAME_LEAST)
		return 0;
	digest->name_most /= 2;
	return 1;
}

/*
 * Room for one more item and its texts. What cannot be made to fit, for each row has something, may double before it is looked
 * through again.
 */
static void make_room(struct digest *digest)
{
	size_t bytes = digest->names.bytes + digest->details.bytes;
	size_t items = digest->kept_items * 2 > digest->most_items ? digest->kept_items * 2 : digest->most_items;

	if (digest->count < items && (bytes < digest->most_bytes || bytes < digest->kept_bytes * 2) &&
	    digest->names.count + digest->details.count < items * 2)
		return;
	bytes = sweep(digest);
	while ((digest->count > digest->most_items / 2 || bytes > digest->most_bytes / 2) && give_up_detail(digest))
		bytes = sweep(digest);
	while (bytes > digest->most_bytes / 2 && shorten_names(digest))
		bytes = sweep(digest);
	digest->kept_items = digest->count;
	digest->kept_bytes = bytes;
}

static void put_cut(struct text *out, const char *text, size_t most)
{
	size_t length = strlen(text), kept = length < most ? length : most;
	char *part;

	text_put(out, text, kept);
	while (kept > 0 && (part = memchr(out->bytes + out->length - kept, DIGEST_PART, kept)) != NULL)
		*part = ' ';
	if (length > most)
		text_format(out, "... (%zu bytes)", length);
}

static uint32_t name_of(struct digest *digest, const struct span *span)
{
	text_clear(&digest->scratch);
	text_string(&digest->scratch, span->category);
	text_char(&digest->scratch, DIGEST_PART);
	put_cut(&digest->scratch, span->name, digest->name_most);
	return digest_names_place(&digest->names, &digest->scratch);
}

/* That of the name as it is, however short names are cut. */
static uint64_t whole_name(struct digest *digest, const struct span *span)
{
	text_clear(&digest->scratch);
	text_string(&digest->scratch, span->category);
	text_char(&digest->scratch, DIGEST_PART);
	text_string(&digest->scratch, span->name);
	return digest_names_hash(digest->scratch.bytes, digest->scratch.length);
}

static void put_detail(struct text *out, const char *name, const char *text, size_t most)
{
	if (out->length)
		text_char(out, DIGEST_PART);
	text_string(out, name);
	text_char(out, DIGEST_PART);
	put_cut(out, text, most);
}

static uint32_t detail_of(struct digest *digest, const struct span *span)
{
	text_clear(&digest->scratch);
	if (span->op != NULL)
		put_detail(&digest->scratch, "op", span->op, digest->name_most);
	if (span->range != NULL)
		put_detail(&digest->scratch, "range", span->range, digest->name_most);
	for (size_t i = 0; i < span->argument_count; i++) {
		const struct span_argument *argument = &span->arguments[i];
		if (strcmp(argument->name, "correlation") == 0 || span->what == SPAN_STEP) /* they stand in flow */
			continue;
		char number[BASE_DIGITS + 1];
		*base_put_natural(number, argument->number) = 0;
		put_detail(&digest->scratch, argument->name, argument->text != NULL ? argument->text : number, digest->name_most);
	}
	return digest_names_place(&digest->details, &digest->scratch);
}

/* Where the texts of such a span are remembered; NULL = they are not. All arguments but "correlation", the first, are in them. */
static struct digest_recent *recent_of(const struct digest *digest, const struct span *span)
{
	uintptr_t mixed = (uintptr_t)span->name ^ (uintptr_t)span->op >> 2 ^ (uintptr_t)span->range >> 4;

	if ((span->what != SPAN_CALL && span->what != SPAN_KERNEL) || span->argument_count == 0 ||
	    span->argument_count > RECENT_ARGUMENTS || strcmp(span->arguments[0].name, "correlation") != 0)
		return NULL;
	for (size_t i = 1; i < span->argument_count; i++)
		mixed = mixed * 31 + (uintptr_t)span->arguments[i].number;
	return &digest->recent[(mixed ^ mixed >> 10) & (RECENT - 1)];
}

static int is_recent(const struct digest_recent *recent, const struct span *span)
{
	if (!recent->is_known || recent->name != span->name || recent->op != span->op || recent->range != span->range ||
	    recent->what != span->what || recent->process != span->process || recent->argument_count != span->argument_count)
		return 0;
	for (size_t i = 1; i < span->argument_count; i++)
		if (recent->arguments[i].name != span->arguments[i].name || recent->arguments[i].text != span->arguments[i].text ||
		    recent->arguments[i].number != span->arguments[i].number)
			return 0;
	return 1;
}

static void find_texts(struct digest *digest, const struct span *span, struct digest_item *item)
{
	struct digest_recent *recent = recent_of(digest, span);

	if (recent != NULL && is_recent(recent, span)) {
		item->name = recent->name_place;
		item->detail = recent->detail_place;
		return;
	}
	item->name = name_of(digest, span);
	item->detail = detail_of(digest, span);
	if (recent == NULL)
		return;
	*recent = (struct digest_recent){.name = span->name,
					 .op = span->op,
					 .range = span->range,
					 .argument_count = span->argument_count,
					 .process = span->process,
					 .name_place = item->name,
					 .detail_place = item->detail,
					 .what = (uint8_t)span->what,
					 .is_known = 1};
	memcpy(recent->arguments, span->arguments, span->argument_count * sizeof *span->arguments);
}

static void set_texts(struct digest *digest, const struct span *span, struct digest_item *item)
{
	struct digest_alike *alike = &digest->alikes[span->alike % RECENT];

	if (span->alike == 0 || alike->alike != span->alike || alike->process != span->process) {
		find_texts(digest, span, item);
		*alike = (struct digest_alike){span->alike, span->process, item->name, item->detail};
		return;
	}
	item->name = alike->name_place;
	item->detail = alike->detail_place;
}

static void place_on_thread(struct digest_row *row, const struct span *span)
{
	if (span->what == SPAN_TRACE || (span->what != SPAN_READ && span->depth == SPAN_NO_DEPTH))
		row->lane = LANE_TRACES;
	else if (span->what == SPAN_READ)
		row->lane = LANE_READS;
	else
		row->depth = span->depth < DEPTH_MOST ? span->depth : DEPTH_MOST;
}

static int is_row(const struct digest_row *row, const struct digest_row *wanted)
{
	return row->process == wanted->process && row->on == wanted->on && row->track == wanted->track &&
	       row->lane == wanted->lane && row->depth == wanted->depth && row->name_hash == wanted->name_hash;
}

/* The place of the row a span belongs to. */
static size_t row_of(struct digest *digest, const struct span *span)
{
	struct digest_row row = {.process = (uint32_t)span->process,
				 .on = (uint8_t)span->on,
				 .kind = span->kind == SPAN_COUNTER ? SPAN_COUNTER : SPAN_WHOLE,
				 .track = span->track,
				 .lane = span->lane,
				 .block = SIZE_MAX};
	struct span named = *span;
	uint64_t high, low;
	uint32_t place;

	if (span->on == SPAN_THREAD)
		place_on_thread(&row, span);
	if (span->on == SPAN_PROCESS) { /* a row for each category and counter */
		named.name = span->kind == SPAN_COUNTER ? span->name : "";
		row.name_hash = whole_name(digest, &named);
	}
	if (digest->row_last < digest->row_count && is_row(&digest->rows[digest->row_last], &row))
		return digest->row_last;
	high = (uint64_t)(row.process + 1) << 32 | (uint64_t)row.on << 24 | row.lane << 16 | (row.depth & 0xffff);
	low = span->on == SPAN_PROCESS ? row.name_hash : row.track;
	place = number_map_find(&digest->row_places, high, low);
	if (place == NUMBER_MAP_NONE && digest->row_count >= ROWS_MOST) {
		digest->rows_shared++;
		row = (struct digest_row){
			.process = row.process, .on = row.on, .kind = row.kind, .track = ROW_SHARED, .block = SIZE_MAX};
		low = UINT64_C(1) << 32 | row.kind; /* no thread has this number */
		high = (uint64_t)(row.process + 1) << 32 | (uint64_t)row.on << 24;
		place = number_map_find(&digest->row_places, high, low);
	}
	if (place == NUMBER_MAP_NONE) {
		row.name = row.name_hash ? name_of(digest, &named) : 0;
		digest->rows = base_grow(digest->rows, &digest->row_room, digest->row_count + 1, sizeof *digest->rows);
		place = (uint32_t)digest->row_count;
		digest->rows[digest->row_count++] = row;
		if (number_map_set(&digest->row_places, high, low, place) != 0)
			base_die("out of memory for the rows of the time line");
	}
	digest->row_last = place;
	return place;
}

/* The same, of what is alike but for its lane asked once. Rows stay where they are; how much a shared one got is counted each time. */
static size_t row_like(struct digest *digest, const struct span *span)
{
	struct digest_alike_row *alike = &digest->alike_rows[(span->alike * SPAN_LANES + span->lane) % RECENT];

	if (span->alike == 0 || alike->alike != span->alike || alike->lane != span->lane || alike->process != span->process ||
	    digest->rows_shared != 0)
		*alike = (struct digest_alike_row){span->alike, span->process, span->lane, (uint32_t)row_of(digest, span)};
	return alike->row;
}

/* A span that is small goes into its row's last block, if it belongs there. */
static int add_to_block(struct digest *digest, const struct span *span, struct digest_item *item)
{
	struct digest_row *row = &digest->rows[item->row];

	if (!digest->grain_ns || row->block == SIZE_MAX || !is_small(digest, item) ||
	    !is_same_stretch(digest, &digest->items[row->block], item))
		return 0;
	if (item->longest_ns > digest->items[row->block].longest_ns)
		set_texts(digest, span, item);
	merge_into(&digest->items[row->block], item);
	return 1;
}

void digest_add(struct digest *digest, const struct span *span)
{
	struct digest_item item = {
		.start_ns = span->start_ns, .duration_ns = span->duration_ns, .count = 1, .is_open = !!span->is_open};
	int64_t end = span->start_ns + (int64_t)span->duration_ns;

	digest->told++;
	digest->first_ns = span->start_ns < digest->first_ns ? span->start_ns : digest->first_ns;
	digest->last_ns = end > digest->last_ns ? end : digest->last_ns;
	item.row = (uint32_t)row_like(digest, span);
	item.busy_ns = item.longest_ns = span->kind == SPAN_WHOLE ? span->duration_ns : 0;
	if (span->what == SPAN_TRACE) /* they lie inside each other on one row */
		item.busy_ns = span->self_ns;
	item.flow = span->what == SPAN_STEP ? span->number + 1 : span->flow;
	item.value = span->kind == SPAN_COUNTER ? span->value : 0;
	if (add_to_block(digest, span, &item))
		return;
	make_room(digest);
	set_texts(digest, span, &item);
	digest->items = base_grow(digest->items, &digest->room, digest->count + 1, sizeof *digest->items);
	if (digest->grain_ns && is_small(digest, &item))
		digest->rows[item.row].block = digest->count;
	digest->items[digest->count++] = item;
}

static void place_rows(struct digest *digest)
{
	for (size_t i = 0; i < digest->row_count; i++)
		digest->rows[i].first = digest->rows[i].count = 0;
	for (size_t i = digest->count; i-- > 0;) {
		digest->rows[digest->items[i].row].first = i;
		digest->rows[digest->items[i].row].count++;
	}
}

void digest_finish(struct digest *digest)
{
	sort_and_merge(digest);
	sweep(digest);
	place_rows(digest);
}

int digest_coarsen(struct digest *digest)
{
	size_t before = digest->count;
	int is_coarser;

	while ((is_coarser = give_up_detail(digest)) && digest->count > before - before / 8)
		continue;
	is_coarser = is_coarser || shorten_names(digest);
	sweep(digest);
	place_rows(digest);
	return is_coarser;
}

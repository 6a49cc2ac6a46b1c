/* SPDX-License-Identifier: Apache-2.0 */
/* How the data of the steps were brought in; see reducer/analysis/loading.h. */
#include "reducer/analysis/loading.h"

#include "reducer/analysis/loading_pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct loading_row *own(struct loading *loading)
{
	return &loading->rows[0];
}

static int compare_ops(const void *a, const void *b)
{
	const struct loading_op *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	if (one->category != other->category)
		return one->category < other->category ? -1 : 1;
	return strcmp(one->name, other->name);
}

static struct loading_name *name_at(struct loading_pass *pass, uint32_t word)
{
	pass->names = base_reach(pass->names, &pass->name_room, word, sizeof(*pass->names));
	return &pass->names[word];
}

/* What its text says. */
static const struct loading_name *name_read(struct loading_pass *pass, uint32_t word)
{
	struct loading_name *name = name_at(pass, word);

	if (!name->is_read) {
		name->is_collate = input_is_collate(pass->words.items[word]);
		name->is_pinning = input_is_pinning(pass->words.items[word]);
		name->is_read = 1;
	}
	return name;
}

_Static_assert(SPAN_RANGE < LOADING_KINDS && SPAN_OP < LOADING_KINDS && SPAN_TRACE < LOADING_KINDS, "kinds has a place for each");

static enum input_kind kind_of(struct loading_pass *pass, uint32_t word, const struct span *span)
{
	uint8_t *kind = &name_at(pass, word)->kinds[span->what];

	if (!*kind)
		*kind = (uint8_t)(input_kind_of(span, pass->loops) + 1);
	return (enum input_kind)(*kind - 1);
}

static void add_op(struct loading *loading, uint32_t word, enum input_category category, uint64_t total, uint64_t self)
{
	uint32_t *place = &name_at(loading->pass, word)->ops[category];
	const char *name = loading->pass->words.items[word];

	if (!*place) {
		loading->ops = base_grow(loading->ops, &loading->op_room, loading->op_count + 1, sizeof(*loading->ops));
		loading->ops[loading->op_count++] = (struct loading_op){.log_id = own(loading)->log_id,
									.name = base_copy(name, strlen(name)),
									.category = category};
		*place = (uint32_t)loading->op_count;
	}
	struct loading_op *op = &loading->ops[*place - 1];
	op->count++;
	op->total_ns += total;
	op->self_ns += self;
}

/* The same of a text of ours. */
static void add_own(struct loading *loading, const char *name, enum input_category category, uint64_t total, uint64_t self)
{
	add_op(loading, words_lasting(&loading->pass->words, name), category, total, self);
}

static void add(struct loading *loading, enum loading_sum sum, uint64_t ns, uint64_t bytes)
{
	struct loading_row *row = own(loading);

	row->ns[sum] += ns;
	row->counts[sum]++;
	row->bytes[sum] += bytes;
}

static void *begin(const struct analysis_input *input)
{
	struct loading *loading = base_alloc(1, sizeof(*loading));

	if (!input)
		return loading;
	loading->pass = base_alloc(1, sizeof(*loading->pass));
	loading->pass->input = input;
	loading_frame(loading->pass, input);
	loading->rows = base_grow(NULL, &loading->room, 1, sizeof(*loading->rows));
	loading->rows[loading->count++] = (struct loading_row){.log_id = input->process->log_id,
							       .process = input->index,
							       .has_steps = loading->pass->has_steps,
							       .window_ns = loading_window(loading->pass)};
	return loading;
}

/* What happens on the thread before a loader's call ends may be inside that call. */
static void remember(struct loading *loading, const struct span *span, uint32_t word, enum input_category category)
{
	struct loading_pass *pass = loading->pass;

	if (pass->pending_count == PENDING_MOST) {
		pass->dropped_ns = pass->pending[PENDING_MOST / 2 - 1].start_ns;
		memmove(pass->pending, pass->pending + PENDING_MOST / 2, PENDING_MOST / 2 * sizeof(*pass->pending));
		pass->pending_count = PENDING_MOST / 2;
		pass->dropped += PENDING_MOST / 2;
	}
	pass->pending = base_grow(pass->pending, &pass->pending_room, pass->pending_count + 1, sizeof(*pass->pending));
	pass->pending[pass->pending_count++] =
		(struct pending){.start_ns = span->start_ns,
				 .word = word,
				 .what = span->what,
				 .category = category,
				 .depth = span->depth,
				 .total_ns = span->what == SPAN_READ ? span->self_ns : span->duration_ns,
				 .self_ns = span->self_ns};
}

/* Whether processes below ended while that call went on. */
static bool saw_ends(struct loading_pass *pass, const struct span *span)
{
	size_t before;

	while (pass->end_next < pass->start_count && pass->ends[pass->end_next] < span->start_ns)
		pass->end_next++;
	before = pass->end_next;
	while (pass->end_next < pass->start_count && pass->ends[pass->end_next] <= span->start_ns + (int64_t)span->duration_ns)
		pass->end_next++;
	return pass->end_next > before;
}

/* Whether this call of a loader is its first, or the first since processes below started, or the one in which they ended. */
static void take_starts(struct loading *loading, const struct span *span)
{
	struct loading_pass *pass = loading->pass;
	size_t before = pass->start_next;
	bool is_end = saw_ends(pass, span) && own(loading)->has_workers;

	while (pass->start_next < pass->start_count &&
	       pass->starts[pass->start_next] < span->start_ns + (int64_t)span->duration_ns)
		pass->start_next++;
	if (!own(loading)->counts[LOADING_LOADER])
		add(loading, LOADING_FIRST, span->duration_ns, 0);
	else if (pass->start_next > before && own(loading)->has_workers)
		add(loading, LOADING_STARTS, span->duration_ns, 0);
	else if (is_end)
		add(loading, LOADING_ENDS, span->duration_ns, 0);
}

/* A call of a loader is over: what began in it was its own. */
static void take_loader(struct loading *loading, const struct span *span, uint32_t word)
{
	struct loading_pass *pass = loading->pass;
	uint64_t inside = 0;
	bool has_workers = strstr(span->name, "MultiProcessing") != NULL;

	for (size_t i = 0; i < pass->pending_count; i++) {
		const struct pending *item = &pass->pending[i];
		if (item->start_ns < span->start_ns)
			continue;
		inside += item->self_ns;
		if (item->what != SPAN_READ) {
			if (item->depth == span->depth + 1 && name_read(pass, item->word)->is_collate) /* stack calls cat */
				add(loading, LOADING_LOADER_COLLATE, item->total_ns, 0);
			add_op(loading, item->word, item->category, item->total_ns, item->self_ns);
		} else if (input_is_file(pass->words.items[item->word])) {
			add(loading, LOADING_LOADER_READS, item->total_ns, 0);
			add_own(loading, "reading files", item->category, item->total_ns, item->self_ns);
		} else {
			add(loading, LOADING_QUEUE_READS, item->total_ns, 0);
		}
	}
	pass->pending_count = 0;
	if (pass->dropped && pass->dropped_ns >= span->start_ns)
		own(loading)->forgotten += pass->dropped;
	pass->dropped = 0;
	own(loading)->has_workers |= has_workers;
	take_starts(loading, span);
	add(loading, LOADING_LOADER, span->duration_ns, 0);
	/* What workers make it for is theirs: here it waits for them. */
	add_op(loading, word, has_workers ? INPUT_OTHER : INPUT_PREPROCESSING, span->duration_ns,
	       span->duration_ns > inside ? span->duration_ns - inside : 0);
}

static void take_place(struct loading *loading, const struct span *span)
{
	int64_t marked = loading_marked(loading->pass, span->start_ns);

	if (marked != TIME_UNKNOWN)
		add(loading, span->start_ns >= marked ? LOADING_OUTSIDE : LOADING_INSIDE, span->duration_ns, 0);
}

/* An op, trace or range of a process with steps. */
static void take_named(struct loading *loading, const struct span *span)
{
	struct loading_pass *pass = loading->pass;
	uint32_t word = words_lasting(&pass->words, span->name);
	enum input_kind kind = kind_of(pass, word, span);
	bool is_wait = input_kind_is_wait(kind, span, pass->step_thread);

	if (is_wait)
		take_place(loading, span);
	switch (kind) {
	case INPUT_ROOT:
		add(loading, LOADING_ITERATORS, span->duration_ns, 0);
		return;
	case INPUT_LOADER:
		if (is_wait)
			take_loader(loading, span, word);
		return;
	case INPUT_RANGE:
		if (is_wait)
			add(loading, LOADING_RANGES, span->duration_ns, 0);
		return;
	case INPUT_NOT:
		break;
	default:
		return;
	}
	if (name_read(pass, word)->is_pinning) {
		if (!input_is_in_pinning(span->name))
			add(loading, LOADING_PINNING, span->duration_ns, 0);
		add_op(loading, word, INPUT_ENQUEUE, span->duration_ns, span->self_ns);
	} else if (span->what == SPAN_OP && span->thread == pass->step_thread) {
		remember(loading, span, word, INPUT_PREPROCESSING);
	}
}

static void take_read(struct loading *loading, const struct span *span)
{
	struct loading_pass *pass = loading->pass;

	if (!input_is_data(span->name))
		return;
	if (span->thread == pass->step_thread) {
		add(loading, LOADING_DEMAND_READS, span->self_ns, span->bytes);
		if (input_is_queue(span->name))
			add(loading, LOADING_DEMAND_ANSWERS, span->self_ns, span->bytes);
		if (input_is_network(span->name))
			add(loading, LOADING_DEMAND_NETWORK, span->self_ns, span->bytes);
		remember(loading, span, words_lasting(&pass->words, span->name), INPUT_DEMAND_READ);
	} else if (input_is_queue(span->name)) {
		add(loading, LOADING_QUEUE_READS, span->self_ns, span->bytes);
	} else if (!pass->has_iterators) {
		add(loading, LOADING_ADVANCE_READS, span->self_ns, span->bytes);
		add_own(loading, "reading files", INPUT_ADVANCE_READ, span->self_ns, span->self_ns);
	}
}

/* A worker has received its next index. */
static void end_batch(struct loading *loading, int64_t next_ns)
{
	struct loading_pass *pass = loading->pass;

	if (pass->batch_ns != TIME_UNKNOWN && pass->last_ns > pass->batch_ns)
		add(loading, LOADING_BUSY, (uint64_t)(pass->last_ns - pass->batch_ns), 0);
	if (pass->index_ns == TIME_UNKNOWN)
		pass->index_ns = next_ns;
	pass->batch_ns = next_ns;
	pass->last_ns = next_ns;
}

/* A worker that was not forked is told by a pipe how to start, and then reads its code: that was no index, and no batch is made. */
static void forget_start(struct loading *loading)
{
	struct loading_pass *pass = loading->pass;

	if (pass->is_started || pass->index_ns == TIME_UNKNOWN || own(loading)->counts[LOADING_BUSY])
		return; /* its dataset imports a module, or code is its data */
	pass->is_started = true;
	pass->batch_ns = pass->index_ns = TIME_UNKNOWN;
	pass->indexes = 0;
}

/* A worker process: an index comes by a pipe, the samples are made, the batch goes away. */
static void take_worker(struct loading *loading, const struct span *span)
{
	struct loading_pass *pass = loading->pass;
	int64_t end = span->start_ns + (int64_t)span->duration_ns;
	bool is_main = span->thread == pass->first_thread;

	if (is_main && end > pass->known_ns)
		pass->known_ns = end;
	if (span->what == SPAN_READ && input_is_queue(span->name)) {
		if (is_main) {
			end_batch(loading, end);
			pass->indexes++;
		}
		return;
	}
	if (span->what == SPAN_READ) {
		if (is_main && input_is_code(span->name))
			forget_start(loading);
		if (!input_is_data(span->name))
			return;
		add(loading, LOADING_WORKER_READS, span->self_ns, span->bytes);
		add_own(loading, "reading files", INPUT_ADVANCE_READ, span->self_ns, span->self_ns);
	} else if (span->what == SPAN_OP) {
		uint32_t word = words_lasting(&pass->words, span->name);
		if (span->depth == 0 && name_read(pass, word)->is_collate)
			add(loading, LOADING_WORKER_COLLATE, span->duration_ns, 0);
		add_op(loading, word, INPUT_PREPROCESSING, span->duration_ns, span->self_ns);
	}
	if (is_main && end > pass->last_ns)
		pass->last_ns = end;
}

static void take(void *result, const struct span *span)
{
	struct loading *loading = result;
	struct loading_pass *pass = loading->pass;

	if (span->start_ns + (int64_t)span->duration_ns <= pass->from_ns || span->start_ns >= pass->to_ns)
		return;
	if (span->what == SPAN_COPY) {
		if (span->copy_kind != 1)
			return;
		add(loading, LOADING_COPIES, span->duration_ns, span->bytes);
		add_own(loading, "copies to the device", INPUT_ENQUEUE, span->duration_ns, span->duration_ns);
	} else if (!pass->has_steps && pass->is_below) {
		take_worker(loading, span);
	} else if (span->what == SPAN_READ) {
		take_read(loading, span);
	} else {
		take_named(loading, span);
	}
}

static void end(void *result)
{
	struct loading *loading = result;

	if (loading->count)
		end_batch(loading, TIME_UNKNOWN);
	if (loading->count && !own(loading)->counts[LOADING_BUSY] && loading_gets_indexes(loading->pass)) {
		add(loading, LOADING_GUESSED, loading_processor_ns(loading->pass), 0);
		own(loading)->counts[LOADING_GUESSED] = loading->pass->indexes;
	}
	if (loading->count && loading->pass->index_ns != TIME_UNKNOWN)
		add(loading, LOADING_ALIVE, (uint64_t)(loading->pass->known_ns - loading->pass->index_ns), 0);
	loading_pass_free(loading->pass);
	loading->pass = NULL;
	if (loading->op_count)
		qsort(loading->ops, loading->op_count, sizeof(*loading->ops), compare_ops);
}

static int compare_rows(const void *a, const void *b)
{
	const struct loading_row *one = a, *other = b;

	return one->log_id < other->log_id ? -1 : one->log_id > other->log_id;
}

static void add_row(struct loading_row *into, const struct loading_row *from)
{
	for (size_t s = 0; s < LOADING_SUMS; s++) {
		into->ns[s] += from->ns[s];
		into->counts[s] += from->counts[s];
		into->bytes[s] += from->bytes[s];
	}
	into->has_workers |= from->has_workers;
	into->has_steps |= from->has_steps;
	into->window_ns = from->window_ns > into->window_ns ? from->window_ns : into->window_ns;
	into->forgotten += from->forgotten;
}

/* Both are in order, and so is the result: as many looks as there are rows. */
static void merge_rows(struct loading *loading, const struct loading *more)
{
	size_t at = 0, count = loading->count;

	for (size_t i = 0; i < more->count; i++) {
		while (at < count && loading->rows[at].log_id < more->rows[i].log_id)
			at++;
		if (at < count && loading->rows[at].log_id == more->rows[i].log_id) {
			add_row(&loading->rows[at], &more->rows[i]);
			continue;
		}
		loading->rows = base_grow(loading->rows, &loading->room, loading->count + 1, sizeof(*loading->rows));
		loading->rows[loading->count++] = more->rows[i];
	}
	if (loading->count > count)
		qsort(loading->rows, loading->count, sizeof(*loading->rows), compare_rows);
}

static void merge_ops(struct loading *loading, const struct loading *more)
{
	size_t at = 0, count = loading->op_count;

	for (size_t i = 0; i < more->op_count; i++) {
		const struct loading_op *from = &more->ops[i];
		while (at < count && compare_ops(&loading->ops[at], from) < 0)
			at++;
		if (at < count && compare_ops(&loading->ops[at], from) == 0) {
			loading->ops[at].count += from->count;
			loading->ops[at].total_ns += from->total_ns;
			loading->ops[at].self_ns += from->self_ns;
			continue;
		}
		loading->ops = base_grow(loading->ops, &loading->op_room, loading->op_count + 1, sizeof(*loading->ops));
		loading->ops[loading->op_count] = *from;
		loading->ops[loading->op_count++].name = base_copy(from->name, strlen(from->name));
	}
	if (loading->op_count > count)
		qsort(loading->ops, loading->op_count, sizeof(*loading->ops), compare_ops);
}

static void merge(void *into, const void *from)
{
	merge_rows(into, from);
	merge_ops(into, from);
}

static void print(const void *result, struct text *text)
{
	const struct loading *loading = result;

	for (size_t i = 0; i < loading->count; i++) {
		const struct loading_row *row = &loading->rows[i];
		text_format(text, "%" PRIx64 " %d %d %" PRIu64 " %" PRIu64 ":", row->log_id, row->has_workers, row->has_steps,
			    row->window_ns, row->forgotten);
		for (size_t s = 0; s < LOADING_SUMS; s++)
			text_format(text, " %" PRIu64 "/%" PRIu64 "/%" PRIu64, row->ns[s], row->counts[s], row->bytes[s]);
		text_char(text, '\n');
	}
	for (size_t i = 0; i < loading->op_count; i++)
		text_format(text, "%" PRIx64 " %d %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", loading->ops[i].log_id,
			    (int)loading->ops[i].category, loading->ops[i].name, loading->ops[i].count, loading->ops[i].total_ns,
			    loading->ops[i].self_ns);
}

static void drop(void *result)
{
	struct loading *loading = result;

	for (size_t i = 0; i < loading->op_count; i++)
		free(loading->ops[i].name);
	free(loading->ops);
	free(loading->rows);
	free(loading);
}

const struct loading_row *loading_row_of(const struct loading *loading, uint64_t log_id)
{
	for (size_t i = 0; loading && i < loading->count; i++)
		if (loading->rows[i].log_id == log_id)
			return &loading->rows[i];
	return NULL;
}

const struct analysis_kind analysis_loading = {
	.name = "loading",
	.wants = SPAN_BIT(SPAN_OP) | SPAN_BIT(SPAN_TRACE) | SPAN_BIT(SPAN_RANGE) | SPAN_BIT(SPAN_READ) | SPAN_BIT(SPAN_COPY),
	.begin = begin,
	.span = take,
	.end = end,
	.merge = merge,
	.print = print,
	.free = drop,
};

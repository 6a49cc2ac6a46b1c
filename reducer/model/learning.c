/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which forward work was learnt from; see reducer/model/learning.h.
 *
 * Rule: layers are known by name, one row each (ATen's, PyTorch 1.13 to 2.15): work that only models do.
 */
#include "reducer/model/learning.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT64_MAX
#define EVENTS_LEAST 8u	/* most threads have few */
#define ACTS_LEAST 16u
#define SCOPE_BACKWARD 1
#define SCOPE_SCRIPT 2
#define SCOPE_USER 7
#define SCOPE_ELSEWHERE 16u /* may end on another thread */

static const char *const layers[] = {
	"aten::linear", "aten::matmul", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::einsum", "aten::bilinear",
	"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution", "aten::conv_transpose1d",
	"aten::conv_transpose2d", "aten::conv_transpose3d", "aten::embedding", "aten::embedding_bag", "aten::lstm", "aten::gru",
	"aten::rnn_tanh", "aten::rnn_relu", "aten::lstm_cell", "aten::gru_cell", "aten::batch_norm", "aten::layer_norm",
	"aten::group_norm", "aten::rms_norm", "aten::scaled_dot_product_attention", "aten::_native_multi_head_attention",
	"aten::_transformer_encoder_layer_fwd",
};

/* What scripts draw a batch with, or pick it out of a tensor; a tensor made of NumPy's array is moved to its device. */
static const char *const draws[] = {
	"aten::randn", "aten::rand", "aten::randint", "aten::randperm", "aten::normal", "aten::normal_", "aten::uniform_",
	"aten::index", "aten::index_select", "aten::slice", "aten::select", "aten::lift_fresh", "aten::to",
};

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

int learning_is_layer_name(const char *text)
{
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		if (strcmp(text, layers[i]) == 0)
			return 1;
	return 0;
}

static enum learning_name name_of(const char *text)
{
	if (begins(text, "Optimizer.step#"))
		return LEARNING_STEP;
	if (begins(text, "Optimizer.zero_grad#"))
		return LEARNING_ZERO;
	if (begins(text, "enumerate(DataLoader)#"))
		return LEARNING_LOADER;
	if (begins(text, "autograd::engine::evaluate_function: "))
		return LEARNING_BACKWARD; /* around the function itself, and around its hooks */
	if (begins(text, "Torch-Compiled Region"))
		return LEARNING_REGION;
	if (begins(text, "CompiledFunction"))
		return LEARNING_LAYER;
	if (strcmp(text, "PythonDispatchMode") == 0)
		return LEARNING_TRACE;
	if (strcmp(text, "aten::_amp_update_scale_") == 0)
		return LEARNING_SCALE;
	if (learning_is_layer_name(text))
		return LEARNING_LAYER;
	for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
		if (strcmp(text, draws[i]) == 0)
			return LEARNING_DRAW;
	return LEARNING_PLAIN;
}

void learning_name(struct learning *learning, uint64_t name, const char *text)
{
	struct learning_names *names = learning->names;

	if (names->kinds == NULL)
		names->kinds = calloc(LEARNING_NAMES, 1);
	if (names->kinds != NULL && name < LEARNING_NAMES)
		names->kinds[name] = (uint8_t)name_of(text);
}

static int is_layer(const struct learning_event *event)
{
	return event->kind == LEARNING_LAYER;
}

/*
 * Of layers without gradients the last counts, with what follows it; of what follows a layer the first op, the last call of a
 * loader, the first zero_grad.
 */
static void keep(struct learning *learning, struct learning_event event)
{
	struct learning_event *events;

	if (is_layer(&event) && event.sequence == NONE) {
		while (learning->count > 0 && !(is_layer(&learning->events[learning->count - 1]) &&
						learning->events[learning->count - 1].sequence != NONE))
			learning->count--;
	} else if (!is_layer(&event)) {
		for (size_t i = learning->count; i > 0 && !is_layer(&learning->events[i - 1]); i--) {
			if (learning->events[i - 1].kind != event.kind)
				continue;
			if (event.kind == LEARNING_LOADER)
				learning->events[i - 1] = event;
			return;
		}
	}
	if (learning->count == learning->room) {
		size_t room = learning->room == 0 ? EVENTS_LEAST : learning->room * 2;
		events = learning->count >= LEARNING_EVENTS ? NULL : realloc(learning->events, room * sizeof *events);
		learning->beyond += events == NULL;
		if (events == NULL)
			return;
		learning->events = events;
		learning->room = room;
	}
	learning->events[learning->count++] = event;
}

/* Since learning_again, one that may be learnt from. Few events follow the last layer. */
static int has_layer(const struct learning *learning)
{
	for (size_t i = learning->count; i > 0; i--)
		if (is_layer(&learning->events[i - 1]) && learning->events[i - 1].sequence != NONE)
			return 1;
	return 0;
}

/* Returns -1 without memory; what was not kept meanwhile is 0: not known. */
static int make_room_for_act(struct learning *learning)
{
	size_t at = learning->acts_count % LEARNING_ACTS, room = learning->acts_room == 0 ? ACTS_LEAST : learning->acts_room;
	uint64_t *acts;

	if (at < learning->acts_room)
		return 0;
	while (room <= at)
		room *= 2;
	acts = realloc(learning->acts, room * sizeof *acts);
	if (acts == NULL)
		return -1;
	memset(acts + learning->acts_room, 0, (room - learning->acts_room) * sizeof *acts);
	learning->acts = acts;
	learning->acts_room = room;
	return 0;
}

/* A layer has ended. */
static void count_layer(struct learning *learning, const struct learning_event *layer)
{
	uint64_t begin = learning->ahead != 0 ? learning->ahead : layer->begin;

	learning->ahead = 0;
	if (layer->sequence != NONE || layer->is_traced)
		return;
	if (make_room_for_act(learning) == 0)
		learning->acts[learning->acts_count % LEARNING_ACTS] = begin;
	learning->acts_count++;
}

/* An op inside of the outermost one. */
static void begin_inside(struct learning *learning, enum learning_name kind, unsigned scope)
{
	learning->now.is_traced |= kind == LEARNING_TRACE;
	learning->is_linkable = learning->is_region && learning->now.sequence == NONE && scope != SCOPE_BACKWARD;
}

void learning_begin(struct learning *learning, uint64_t name, uint64_t key, unsigned scope, uint64_t time)
{
	const uint8_t *kinds = learning->names->kinds;
	enum learning_name kind = name < LEARNING_NAMES && kinds != NULL ? (enum learning_name)kinds[name] : LEARNING_PLAIN;

	learning->is_linkable = 0;
	learning->last_name = name;
	learning->updates += learning->stepping != 0;
	if (kind == LEARNING_STEP && learning->stepping == 0) {
		learning->has_stepped = learning->is_scalable = 1;
		learning->stepping = key;
		learning->is_within = learning->outer != 0 && learning->now.kind == LEARNING_UNKNOWN;
		return;
	}
	if (key == 0 || (scope & SCOPE_ELSEWHERE))
		return;
	if (learning->outer != 0) {
		begin_inside(learning, kind, scope);
		return;
	}
	if ((scope == SCOPE_USER && kind <= LEARNING_LAYER) || scope == SCOPE_SCRIPT)
		return; /* a range only holds others */
	learning->has_loaded |= kind == LEARNING_LOADER;
	if (kind == LEARNING_SCALE) {
		learning->skips += !learning->is_scalable;
		learning->is_scalable = 0;
	}
	if (kind == LEARNING_DRAW) {
		learning->has_drawn |= learning->stepping == 0 && !has_layer(learning);
		kind = LEARNING_PLAIN;
	}
	learning->is_region = kind == LEARNING_REGION;
	kind = kind == LEARNING_REGION ? LEARNING_LAYER : kind == LEARNING_TRACE ? LEARNING_PLAIN : kind;
	learning->outer = key;
	learning->outer_name = name;
	learning->now = (struct learning_event){.begin = time, .sequence = NONE, .acted = learning->acts_count, .kind = kind};
	learning->is_linkable = scope != SCOPE_BACKWARD;
	if (scope == SCOPE_BACKWARD || kind == LEARNING_BACKWARD)
		learning->now.kind = LEARNING_UNKNOWN;
	else if (kind == LEARNING_LOADER || kind == LEARNING_ZERO) {
		learning->ahead = kind == LEARNING_LOADER || learning->ahead == 0 ? time : learning->ahead;
		keep(learning, learning->now);
	}
}

void learning_end(struct learning *learning, uint64_t key)
{
	const struct learning_event *now = &learning->now;

	learning->is_linkable = 0;
	if (learning->stepping == key)
		learning->stepping = 0;
	if (learning->outer == 0 || learning->outer != key)
		return;
	learning->outer = 0;
	if (learning->stepping != 0 && now->sequence == NONE)
		return;
	if (is_layer(now))
		count_layer(learning, now);
	if (is_layer(now) || (now->kind == LEARNING_PLAIN && now->sequence != NONE))
		keep(learning, *now);
}

void learning_reopen(struct learning *learning)
{
	learning->outer = learning->stepping = 0;
	learning->is_linkable = learning->is_within = 0;
	learning->is_scalable = 1;
}

int learning_is_layer(const struct learning *learning, uint64_t key)
{
	return learning->outer == key && is_layer(&learning->now);
}

void learning_sequence(struct learning *learning, uint64_t sequence)
{
	/* Before 2.4 a layer under autocast has none, the same one inside of it has. */
	int is_cast = learning->outer != 0 && is_layer(&learning->now) && learning->last_name == learning->outer_name;

	if (learning->is_linkable || (is_cast && learning->now.sequence == NONE))
		learning->now.sequence = sequence;
	learning->is_linkable = 0;
}

void learning_backward(struct learning *learning, uint64_t name, uint64_t sequence)
{
	learning->least = sequence < learning->least ? sequence : learning->least;
	learning->backward += (name + 1) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
}

/* Where training takes over behind event `last`: the loader's call for its first batch, else zero_grad or its first op. */
static uint64_t begin_of_training(const struct learning *learning, size_t last, size_t first)
{
	uint64_t begin = learning->events[first].begin;

	for (size_t i = last + 1; i < first; i++)
		if (learning->events[i].kind == LEARNING_LOADER)
			return learning->events[i].begin;
	for (size_t i = last + 1; i < first; i++)
		if (learning->events[i].begin < begin && (learning->events[i].kind == LEARNING_ZERO || learning->events[i].is_traced ||
							  learning->events[i].sequence >= learning->least))
			begin = learning->events[i].begin;
	return begin;
}

/* The last call of a loader in front of the first layer that was learnt from, else the last zero_grad; else that layer. */
static uint64_t began(const struct learning *learning, size_t first)
{
	uint64_t zero = 0;

	for (size_t i = first; i > 0; i--) {
		const struct learning_event *event = &learning->events[i - 1];
		if (event->kind == LEARNING_LOADER)
			return event->begin;
		zero = event->kind == LEARNING_ZERO && zero == 0 ? event->begin : zero;
	}
	return zero;
}

/* When the last usual_acts of so many layers without gradients began; 0 = there were no more, or that is forgotten. */
static uint64_t acted_from(const struct learning *learning, size_t acted)
{
	size_t first = acted - learning->usual_acts; /* wraps around where there were less: not below `acted` */

	if (learning->usual_acts == 0 || first == 0 || first >= acted || learning->acts_count - first > LEARNING_ACTS ||
	    first % LEARNING_ACTS >= learning->acts_room)
		return 0;
	return learning->acts[first % LEARNING_ACTS];
}

struct learning_found learning_found(const struct learning *learning)
{
	struct learning_found found = {.backward = learning->backward,
				       .updates = learning->updates,
				       .usual_acts = learning->usual_acts,
				       .has_stepped = learning->has_stepped,
				       .has_loaded = learning->has_loaded,
				       .has_drawn = learning->has_drawn};
	size_t last = learning->count, silent = learning->count; /* of layers before the first one learnt from: without gradients */
	uint64_t traced = 0; /* when what a compiler ran behind the last layer that it did not run began */

	for (size_t i = 0; i < learning->count && learning->beyond == 0 && learning->least != NONE; i++) {
		const struct learning_event *event = &learning->events[i];
		if (!is_layer(event))
			continue;
		if (event->is_traced && traced == 0)
			traced = event->begin;
		if (silent < learning->count && found.unacted_from == 0 && event->sequence != NONE && !event->is_traced)
			found.unacted_from = begin_of_training(learning, silent, i);
		if (event->sequence == NONE && !event->is_traced) {
			silent = i;
			found.unacted_from = 0;
		}
		if (event->sequence == NONE || event->sequence < learning->least) {
			last = event->is_traced ? last : i;
			traced = event->is_traced ? traced : 0;
			continue;
		}
		found.trained_from = traced != 0 ? traced : event->begin;
		found.began = began(learning, i);
		found.began = found.began != 0 && found.began < found.trained_from ? found.began : found.trained_from;
		found.acted = event->acted;
		found.acted_from = acted_from(learning, event->acted);
		if (last < learning->count)
			found.evaluated_to = begin_of_training(learning, last, i);
		break;
	}
	return found;
}

void learning_note_acts(struct learning *learning, const struct learning_found *found)
{
	if (found->trained_from == 0)
		return;
	if (found->acted == learning->last_acts)
		learning->usual_acts = found->acted;
	learning->last_acts = found->acted;
}

int learning_is_forward(const struct learning *learning)
{
	size_t i = 0;

	while (i < learning->count && !is_layer(&learning->events[i]))
		i++;
	return i < learning->count && learning->least == NONE && !learning->has_stepped;
}

void learning_again(struct learning *learning)
{
	learning->count = learning->acts_count = 0;
	learning->ahead = 0;
	learning->least = NONE;
	learning->backward = learning->updates = 0;
	learning->beyond = 0;
	learning->has_stepped = 0;
	learning->has_loaded = learning->has_drawn = 0;
}

void learning_free(struct learning *learning)
{
	free(learning->events);
	free(learning->acts);
}

void learning_free_names(struct learning_names *names)
{
	free(names->kinds);
}

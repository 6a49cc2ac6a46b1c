/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: instantiation, update, replay.
 *
 * A replay submits all nodes at once: each starts when its dependencies have ended and its engine is free, none before the
 * stream has come to the graph; the stream goes on when the last node has ended.
 * Rule: an executable graph runs one replay after the other, on whatever streams.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

bool sim_exec_is_live(const struct sim_graph_exec *exec)
{
	return sim_is_object(exec, SIM_MAGIC_EXEC);
}

uint32_t sim_graph_exec_id(struct sim_graph_exec *exec)
{
	return sim_exec_is_live(exec) ? exec->id : SIM_NONE;
}

/* Puts the nodes into an order in which each stands behind what it depends on. Returns false for a cycle. */
static bool sort(struct sim_graph *graph)
{
	struct sim_node *left = graph->nodes, **tail = &graph->nodes;
	bool has_moved = true;

	for (struct sim_node *node = left; node; node = node->next)
		node->end = 1;
	graph->nodes = NULL;
	while (left && has_moved) {
		has_moved = false;
		for (struct sim_node **at = &left; *at;) {
			struct sim_node *node = *at;
			bool is_ready = true;

			for (int i = 0; i < node->dependency_count; i++)
				is_ready &= !node->dependencies[i]->end;
			if (!is_ready) {
				at = &node->next;
				continue;
			}
			*at = node->next;
			node->next = NULL;
			node->end = 0;
			*tail = node;
			tail = &node->next;
			has_moved = true;
		}
	}
	graph->tail = tail;
	return !left;
}

int sim_exec_new(struct sim_graph *graph, unsigned flags, struct sim_graph_exec **made)
{
	struct sim_graph_exec *exec;

	if (!sim_graph_is_live(graph) || !made)
		return SIM_INVALID_VALUE;
	exec = sim_object_new(sizeof *exec);
	*exec = (struct sim_graph_exec){.magic = SIM_MAGIC_EXEC, .source = graph, .source_id = graph->id, .flags = flags};
	sim_tell_resource(&(struct sim_resource){.kind = SIM_EXEC_CREATE_STARTING, .context = sim_context_current(), .graph = graph});
	sim_graph_clone(graph, &exec->graph, exec);
	exec->id = exec->graph->id;	/* one id for the executable graph and the clone that it runs */
	if (!sort(exec->graph)) {
		exec->magic = SIM_MAGIC_DEAD;
		return SIM_INVALID_VALUE;
	}
	*made = exec;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_EXEC_CREATED, .context = sim_context_current(), .graph = graph, .exec = exec});
	return SIM_OK;
}

int sim_exec_destroy(struct sim_graph_exec *exec)
{
	if (!sim_exec_is_live(exec))
		return SIM_INVALID_VALUE;
	sim_tell_resource(&(struct sim_resource){.kind = SIM_EXEC_DESTROY_STARTING, .context = sim_context_current(), .graph = exec->source,
						 .exec = exec});
	exec->magic = SIM_MAGIC_DEAD;
	sim_user_graph_ends(exec->graph);
	return SIM_OK;
}

struct sim_node *sim_exec_node(struct sim_graph_exec *exec, struct sim_node *original)
{
	struct sim_node *node = exec->graph->nodes;

	while (node && node->original != original)
		node = node->next;
	return node;
}

static int index_of(const struct sim_graph *graph, const struct sim_node *wanted)
{
	int index = 0;

	for (const struct sim_node *node = graph->nodes; node && node != wanted; node = node->next)
		index++;
	return index;
}

static struct sim_node *node_at(const struct sim_graph *graph, int index)
{
	struct sim_node *node = graph->nodes;

	while (node && index--)
		node = node->next;
	return node;
}

/* why: CUgraphExecUpdateResult: 0 success, 2 other topology, 3 other node type. */
int sim_exec_update(struct sim_graph_exec *exec, struct sim_graph *graph, int *why, struct sim_node **bad)
{
	struct sim_node *mine, *theirs;

	*why = graph->node_count != exec->graph->node_count ? 2 : 0;
	*bad = NULL;
	for (mine = exec->graph->nodes; mine && !*why; mine = mine->next) {
		theirs = node_at(graph, sim_node_is_live(mine->original) ? index_of(mine->original->graph, mine->original) :
				 index_of(exec->graph, mine));
		if (!theirs || theirs->dependency_count != mine->dependency_count || theirs->type != mine->type) {
			*why = theirs && theirs->type != mine->type ? 3 : 2;
			*bad = theirs;
		}
	}
	if (*why)
		return SIM_GRAPH_UPDATE_FAILED;
	for (mine = exec->graph->nodes; mine; mine = mine->next) {
		theirs = node_at(graph, sim_node_is_live(mine->original) ? index_of(mine->original->graph, mine->original) :
				 index_of(exec->graph, mine));
		mine->launch = theirs->launch;
		mine->copy = theirs->copy;
		mine->set = theirs->set;
		mine->host = theirs->host;
		mine->host_data = theirs->host_data;
	}
	return SIM_OK;
}

/* ---- replay ---- */

struct replay {
	struct sim_graph_exec *exec;
	struct sim_stream *stream;
	struct sim_work *done;
	size_t done_count, done_room;
	uint64_t first, last;	/* true time */
};

static struct sim_piece *piece_of(const struct sim_context *context, struct sim_node *node, int *engine, uint64_t *duration)
{
	struct sim_piece *piece = NULL;

	*engine = SIM_NO_ENGINE;
	*duration = 0;
	if (node->type == 0) {
		piece = sim_piece_new(SIM_KERNEL);
		sim_kernel_fill(&piece->work, context, &node->launch);
		piece->work.kernel.priority = node->priority;
		*duration = sim_kernel_duration(&context->machine->facts, &node->launch);
		*engine = SIM_COMPUTE;
	} else if (node->type == 1) {
		sim_copy_piece(context, &node->copy, &piece, engine, duration);
	} else if (node->type == 2) {
		sim_set_piece(context, &node->set, &piece, duration);
		*engine = SIM_COMPUTE;
	}
	return piece;
}

static void run_host_node(struct sim_piece *piece)
{
	struct sim_node *node = piece->user;

	sim_in_host_function = true;
	node->host(node->host_data);
	sim_in_host_function = false;
}

static void put(struct replay *replay, struct sim_node *node, struct sim_piece *piece, int engine, uint64_t duration, uint64_t ready)
{
	piece->is_in_graph = true;
	piece->work.graph_id = replay->exec->id;
	piece->work.node_id = node->id;
	piece->work.source_graph_id = replay->exec->source_id;
	piece->work.source_node_id = node->original ? node->original->id : 0;
	sim_lock();
	node->end = sim_submit_locked(replay->stream, piece, engine, duration, ready);
	if (replay->done_count == replay->done_room) {
		replay->done_room = replay->done_room ? 2 * replay->done_room : 64;
		replay->done = realloc(replay->done, replay->done_room * sizeof *replay->done);
		if (!replay->done)
			abort();
	}
	replay->done[replay->done_count++] = piece->work;
	if (piece->work.true_start < replay->first)
		replay->first = piece->work.true_start;
	sim_unlock();
}

static void run_nodes(struct replay *replay, struct sim_graph *graph, uint64_t ready);

/* Which body runs the `turn`th time, NULL = none does: what kernels would set the value to, the scenario says. */
static struct sim_graph *body_of(const struct sim_node *node, uint64_t turn)
{
	uint64_t value = node->condition->has_value ? node->condition->value : SIM_NUMBER("conditional_value", 0);

	if (node->condition_type == 1)
		return value && turn < SIM_NUMBER("conditional_turns", 3) ? node->bodies[0] : NULL;
	if (turn)
		return NULL;
	if (node->condition_type == 0)
		value = value ? 0 : 1;
	return value < node->body_count ? node->bodies[value] : NULL;
}

static void run_bodies(struct replay *replay, struct sim_node *node, uint64_t ready)
{
	uint64_t last = replay->last;
	struct sim_graph *body;

	replay->last = ready;
	for (uint64_t turn = 0; (body = body_of(node, turn)); turn++)
		run_nodes(replay, body, replay->last);
	node->end = replay->last;
	replay->last = last;
}

static void run_node(struct replay *replay, struct sim_node *node, uint64_t ready)
{
	struct sim_context *context = replay->stream->context;
	struct sim_piece *piece;
	uint64_t duration;
	int engine;

	node->end = ready;
	if (node->is_disabled)
		return;
	if (node->type == 4 && node->child) {
		uint64_t last = replay->last;

		replay->last = ready;
		run_nodes(replay, node->child, ready);
		node->end = replay->last;
		replay->last = last;
	} else if (node->condition) {
		run_bodies(replay, node, ready);
	} else if (node->type == 3) {
		piece = sim_piece_new(SIM_HOST_FUNCTION);
		piece->user = node;
		piece->act = run_host_node;
		piece->wants_own_thread = true;
		put(replay, node, piece, SIM_NO_ENGINE, SIM_NUMBER("host_function_ns", 5000), ready);
	} else if (node->type == 7 && node->event) {
		node->event->time = ready;
		node->event->is_recorded = true;
	} else if (node->type == 6 && node->event && node->event->is_recorded) {
		node->end = node->event->time > ready ? node->event->time : ready;
	} else if ((piece = piece_of(context, node, &engine, &duration))) {
		put(replay, node, piece, engine, duration, ready);
	}
}

static void run_nodes(struct replay *replay, struct sim_graph *graph, uint64_t ready)
{
	for (struct sim_node *node = graph->nodes; node; node = node->next) {
		uint64_t from = ready;

		for (int i = 0; i < node->dependency_count; i++)
			from = node->dependencies[i]->end > from ? node->dependencies[i]->end : from;
		run_node(replay, node, from);
		replay->last = node->end > replay->last ? node->end : replay->last;
	}
}

/* The record of the whole launch. */
static void put_whole(struct replay *replay)
{
	struct sim_piece *piece = sim_piece_new(SIM_GRAPH);
	uint64_t start = replay->first < replay->last ? replay->first : replay->last;
	struct sim_work copy;

	piece->is_in_graph = true;
	piece->work.graph_id = replay->exec->id;
	piece->work.source_graph_id = replay->exec->source_id;
	sim_lock();
	sim_submit_locked(replay->stream, piece, SIM_NO_ENGINE, 0, replay->last);
	piece->work.true_start = start;
	piece->work.start = sim_clock_device(piece->work.device, start);
	sim_stream_extend_locked(replay->stream, piece->work.true_end);
	replay->exec->end = piece->work.true_end;
	copy = piece->work;
	sim_unlock();
	sim_after_submit(&copy);
}

int sim_exec_launch(struct sim_graph_exec *exec, struct sim_stream *stream)
{
	struct replay replay = {.exec = exec, .stream = stream, .first = UINT64_MAX};
	struct sim_node *node;
	uint64_t ready;
	int result;

	if (!sim_exec_is_live(exec))
		return SIM_INVALID_VALUE;
	if (sim_capture_status(stream)) {
		result = sim_capture_add(stream, 4, &node);
		return result ? result : sim_graph_clone(exec->graph, &node->child, NULL);
	}
	sim_lock();
	ready = sim_stream_ready_locked(stream);
	ready = exec->end > ready ? exec->end : ready;
	sim_unlock();
	replay.last = ready > sim_clock_now() ? ready : sim_clock_now();
	run_nodes(&replay, exec->graph, replay.last);
	for (size_t i = 0; i < replay.done_count; i++)
		sim_after_submit(&replay.done[i]);
	put_whole(&replay);
	free(replay.done);
	return SIM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User objects: references that graphs hold on what a program's nodes need. When the last one is given back the program's
 * function is called.
 *
 * Rule: a clone, and the executable graph of a graph, hold what the graph holds; the function runs on the thread that gave the last
 * reference back, with no lock held.
 */
#include <stdlib.h>

#include "inner.h"

struct sim_user {
	uint32_t magic;
	unsigned count;
	void *data;
	void (*destroy)(void *);
};
/* A link of sim_graph.users. */
struct sim_user_hold {
	struct sim_user *user;
	unsigned count;
	struct sim_user_hold *next;
};

int sim_user_new(void *data, void (*destroy)(void *), unsigned count, struct sim_user **made)
{
	struct sim_user *user;

	if (!made || !destroy || !count)
		return SIM_INVALID_VALUE;
	user = sim_object_new(sizeof *user);
	*user = (struct sim_user){SIM_MAGIC_USER, count, data, destroy};
	*made = user;
	return SIM_OK;
}

int sim_user_retain(struct sim_user *user, unsigned count)
{
	if (!sim_is_object(user, SIM_MAGIC_USER) || !count)
		return SIM_INVALID_VALUE;
	sim_lock();
	user->count += count;
	sim_unlock();
	return SIM_OK;
}

int sim_user_release(struct sim_user *user, unsigned count)
{
	bool is_last;

	if (!sim_is_object(user, SIM_MAGIC_USER) || !count || count > user->count)
		return SIM_INVALID_VALUE;
	sim_lock();
	user->count -= count;
	is_last = !user->count;
	if (is_last)
		user->magic = SIM_MAGIC_DEAD;
	sim_unlock();
	if (is_last)
		user->destroy(user->data);
	return SIM_OK;
}

static void hold(struct sim_graph *graph, struct sim_user *user, unsigned count)
{
	struct sim_user_hold *link = sim_allocate(sizeof *link);

	sim_lock();
	*link = (struct sim_user_hold){user, count, graph->users};
	graph->users = link;
	sim_unlock();
}

int sim_user_hold(struct sim_graph *graph, struct sim_user *user, unsigned count, bool is_moved)
{
	if (!sim_graph_is_live(graph) || !sim_is_object(user, SIM_MAGIC_USER) || !count)
		return SIM_INVALID_VALUE;
	if (!is_moved)
		sim_user_retain(user, count);
	hold(graph, user, count);
	return SIM_OK;
}

int sim_user_let_go(struct sim_graph *graph, struct sim_user *user, unsigned count)
{
	if (!sim_graph_is_live(graph) || !sim_is_object(user, SIM_MAGIC_USER))
		return SIM_INVALID_VALUE;
	for (struct sim_user_hold *link = graph->users; link; link = link->next)
		if (link->user == user && link->count >= count) {
			link->count -= count;
			return sim_user_release(user, count);
		}
	return SIM_INVALID_VALUE;
}

void sim_user_clone(struct sim_graph *to, const struct sim_graph *from)
{
	for (const struct sim_user_hold *link = from->users; link; link = link->next)
		if (link->count) {
			sim_user_retain(link->user, link->count);
			hold(to, link->user, link->count);
		}
}

void sim_user_graph_ends(struct sim_graph *graph)
{
	while (graph->users) {
		struct sim_user_hold *link = graph->users;

		graph->users = link->next;
		if (link->count)
			sim_user_release(link->user, link->count);
		free(link);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread's ops of PyTorch say of learning: which layers a backward pass came for, and where such work began.
 *
 * Rule: knows nothing of logs and steps. Sequence numbers of a thread only grow, and a backward function has that of its forward
 * op: what has a lower one than the least that was learnt from, or none (gradients were off), was forward work alone. Of many
 * layers in a row without gradients the last is kept, so memory follows the layers of a step; they are counted, and when the last
 * LEARNING_ACTS of them began is remembered: what acts in each step has as many of them each time, what is scored stands before that.
 */
#ifndef REDUCER_MODEL_LEARNING_H
#define REDUCER_MODEL_LEARNING_H

#include <stddef.h>
#include <stdint.h>

/*
 * LEARNING_DRAW: takes data without a loader. LEARNING_TRACE: stands inside of an op that a compiler runs to see what it does.
 * LEARNING_REGION: what torch.compile made, a layer whose ops say its sequence number. LEARNING_SCALE: what a GradScaler does once
 * a batch, behind its step, be it skipped or not.
 */
enum learning_name {
	LEARNING_UNKNOWN,
	LEARNING_PLAIN,
	LEARNING_DRAW,
	LEARNING_BACKWARD,
	LEARNING_TRACE,
	LEARNING_REGION,
	LEARNING_LAYER,
	LEARNING_LOADER,
	LEARNING_ZERO,
	LEARNING_SCALE,
	LEARNING_STEP
};

struct learning_event {
	uint64_t begin, sequence; /* sequence: UINT64_MAX = none */
	size_t acted;		  /* layers without gradients in front of it, since learning_again */
	enum learning_name kind;
	int is_traced; /* a compiler ran it, or another mode of Python's dispatcher saw it */
};

/* What names are, for all threads of a log. Start from {0}. */
struct learning_names {
	uint8_t *kinds; /* by name: enum learning_name; NULL = of none is known */
};

struct learning {
	uint64_t framework_id; /* what PyTorch calls the thread; 0 = not said */
	struct learning_names *names; /* the caller's */
	uint64_t last_name;    /* of the op begun last */
	uint64_t outer;	       /* key of the outermost op that is open; 0 = none */
	uint64_t outer_name;
	uint64_t stepping;     /* of an open Optimizer.step: a closure in it may train, its own ops have no gradients; 0 = none */
	struct learning_event now; /* that op */
	int is_linkable;       /* a sequence number that comes next is of it */
	int is_region;	       /* LEARNING_REGION */
	int is_scalable;       /* an Optimizer.step was called since LEARNING_SCALE */
	size_t skips;	       /* LEARNING_SCALE without one: a GradScaler skipped it */
	int is_within;	       /* the Optimizer.step begun last was called by a backward function, a hook of it */
	uint64_t *acts;	       /* when layers without gradients began, or what brought their data before them: by number, a ring */
	size_t acts_room;      /* grows to LEARNING_ACTS */
	size_t usual_acts, last_acts; /* `acted` of the last two steps that had the same, of the last one */
	/* Since learning_again. */
	uint64_t beyond;   /* layers and what follows them that found no room: LEARNING_EVENTS are kept, nothing is found then */
	struct learning_event *events;
	size_t count, room;
	uint64_t least;	   /* sequence that a backward function came for; UINT64_MAX = none did */
	uint64_t backward; /* sum over their names */
	uint64_t updates;  /* ops inside of Optimizer.step */
	size_t acts_count;
	uint64_t ahead; /* behind the last layer: the loader's last call, else the first zero_grad; 0 = none */
	int has_stepped;
	int has_loaded, has_drawn; /* a loader was asked for a batch; data were drawn or picked in front of the first layer */
};

struct learning_found {
	uint64_t trained_from; /* when the first layer that a backward pass came for began, or was compiled; 0 = there is none */
	uint64_t began; /* what came before it of the same step: the loader's last call, else the last zero_grad; else trained_from */
	uint64_t evaluated_to; /* when what came before it, and no backward pass came for, gave way to it; 0 = nothing did */
	uint64_t backward, updates; /* as in struct learning */
	size_t acted, usual_acts; /* layers without gradients in front of trained_from; of the last two steps before with as many */
	uint64_t acted_from;	  /* when the last usual_acts of them began, where there were more; 0 = not known */
	uint64_t unacted_from;	  /* when what came behind the last of them began; 0 = there are none */
	int has_stepped; /* an optimizer did */
	int has_loaded, has_drawn; /* as in struct learning */
};

#define LEARNING_ACTS 4096u    /* a teacher of more layers is not told from what is scored before it; 32 KiB a thread that acts */
#define LEARNING_EVENTS (1u << 19) /* 20 MiB; a step of more layers is not looked at */
#define LEARNING_NAMES 65536u /* ids of names that are told apart */

static inline int learning_knows(const struct learning *learning, uint64_t name)
{
	return name >= LEARNING_NAMES || (learning->names->kinds != NULL && learning->names->kinds[name] != LEARNING_UNKNOWN);
}
void learning_name(struct learning *learning, uint64_t name, const char *text);

/* scope: as in op_begin. Times are not 0. */
void learning_begin(struct learning *learning, uint64_t name, uint64_t key, unsigned scope, uint64_t time);
void learning_end(struct learning *learning, uint64_t key);
/* A window opened: what was open ended before, where nobody recorded it. */
void learning_reopen(struct learning *learning);
/* Is that the name of an op that only models do? */
int learning_is_layer_name(const char *text);
/* Did the op begun last begin the work of a layer? */
int learning_is_layer(const struct learning *learning, uint64_t key);
/* The op just begun has that sequence number. */
void learning_sequence(struct learning *learning, uint64_t sequence);
/* A backward function ran for an op of this thread. */
void learning_backward(struct learning *learning, uint64_t name, uint64_t sequence);

/* What the events since learning_again say of the step that ends now. */
struct learning_found learning_found(const struct learning *learning);
/* The step that ended is over: the next ones may act as it did. */
void learning_note_acts(struct learning *learning, const struct learning_found *found);
/* Whether there was forward work, and no backward pass at all: so it is behind the last step of a loop that evaluates. */
int learning_is_forward(const struct learning *learning);
/* Forgets what happened, not what names are. */
void learning_again(struct learning *learning);
void learning_free(struct learning *learning);
void learning_free_names(struct learning_names *names);

#endif

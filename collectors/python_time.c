/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of Python code by time; see collectors/python_time.h. */
#include "collectors/python_time.h"

#include "collectors/heap.h"
#include "collectors/pace.h"
#include "collectors/process.h"
#include "collectors/python_held.h"
#include "collectors/python_objects.h"
#include "collectors/window.h"
#include "writer/drain.h"
#include "writer/format.h"
#include "writer/sys.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "writer/poison.h"

#define THREADS_MOST 256    /* looked at, of one interpreter */
#define STATES_MOST 65536   /* of threads that are met; the first thread's is the last one */
#define STATE_MOST 512      /* bytes of a thread state that are read */
#define WALKS 4             /* along a list of threads that ended under our feet */
#define IN_DOUBT UINT32_MAX /* instead of a stack */
#define DOUBTS 64           /* in a row before the first good stack: the layout is another one than we think */
#define PAUSE_NS 50000      /* for a thread whose processor ours has taken to go on */
#define OFTEN 8             /* such a thread has used one part of the time in so many */

/* A thread of the interpreter. Times in ticks since origin. */
struct watched {
	uintptr_t state;
	struct tfp_thread *thread;
	uint32_t serial; /* of the thread when it was found */
	uint32_t round;  /* in which it was met last */
	uint32_t stack;  /* where it was at the last look, */
	uint8_t collecting; /* and whether the garbage collector ran then, as record python_time has it */
	uint64_t looked, told, ran;
	uint64_t cpu;    /* ns that it had used then, */
	uint64_t untold; /* and of these in no record yet */
};

/* In pages of its own, which a fork child finds empty. */
struct tfp_python_watch {
	uint32_t round, count;
	uint32_t unlooked; /* threads for which there is no room */
	uint32_t good, doubtful; /* stacks */
	uint8_t collecting; /* in this round: as record python_time has it */
	uint8_t has_others; /* it was said that there are several interpreters */
	struct tfp_pace pace;
	uintptr_t last;  /* state on the list, when it was followed to its end; 0: it was not */
	uintptr_t first; /* handle of the process's first thread; 0: unknown */
	uint32_t state_bytes;
	uint64_t state[STATE_MOST / 8];
	uint64_t calling[STATE_MOST / 8]; /* a frame once more */
	struct watched threads[THREADS_MOST];
	uint64_t graves[TFP_PYTHON_GRAVES]; /* before the thread's state was copied */
	struct tfp_python_lane lane;
	struct tfp_python_copies copies;
	struct tfp_python_held *held; /* what is seen outside of windows goes there; NULL = nobody looks then */
	int is_holding;
};

static uint32_t period_ms;      /* written at start-up */
static struct tfp_kept memory;  /* /proc/self/mem of `opener` */
static _Atomic uint32_t opener; /* pid; 0 = nobody */

static const struct tfp_python_known *const known = &tfp_python_known;

static void say(const char *state, const char *detail)
{
	tfp_fact_framework("python_time", state, detail);
}

/*
 * Whether the thread runs: its clock goes on. Where it may be ours that took its processor, which only happens to one that uses a good
 * part of it, it is given the time to have it again. A file of the kernel's says more, but opening one beside the host's threads takes
 * the number that the host counts on.
 */
static int is_running(const struct watched *of, uint64_t cpu, uint64_t elapsed)
{
	static const struct timespec pause = {0, PAUSE_NS};

	if (tfp_clock_thread_ns(of->thread->tid) > cpu)
		return 1;
	if ((cpu - of->cpu) / 1000 * OFTEN * (tfp_state->second_ticks / 1000) < elapsed * 1000)
		return 0;
	tfp_sys(SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0, 0);
	tfp_sys(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
	return tfp_clock_thread_ns(of->thread->tid) > cpu;
}

/* Of a thread state what is read; 0: this interpreter's threads cannot be found. */
static uint32_t state_bytes(void)
{
	const struct tfp_python_layout *layout = &known->layout;

	if (layout->thread_next == TFP_PYTHON_NONE || layout->thread_owner == TFP_PYTHON_NONE ||
	    layout->interpreter_next == TFP_PYTHON_NONE || layout->interpreter_threads == TFP_PYTHON_NONE)
		return 0;
	uint32_t bytes = layout->thread_owner > layout->thread_next ? layout->thread_owner + 8 : layout->thread_next + 8;
	bytes = bytes > layout->thread_bytes ? bytes : layout->thread_bytes;
	return bytes <= STATE_MOST ? bytes : 0;
}

static int copy_state(struct tfp_python_watch *watch, uintptr_t state)
{
	return state & 7 ? -1 : tfp_python_copy(&watch->copies, state, watch->state, watch->state_bytes);
}

static uintptr_t of_state(const struct tfp_python_watch *watch, uint32_t field)
{
	return tfp_python_word((uintptr_t)watch->state + field);
}

/*
 * The frame as a code address of the log; 0: in doubt. `at`: its copy. Where nothing ended at the code's address since before the
 * thread's state was copied, what lies there now is what that frame had: no later object at the address of one that is gone.
 */
static uint32_t take_frame(struct tfp_python_watch *watch, uintptr_t at)
{
	struct tfp_python_lane *lane = &watch->lane;
	uintptr_t code = tfp_python_code_of(&known->layout, at);
	uint64_t instruction = tfp_python_instruction(&known->layout, at, code);
	uint32_t again = tfp_python_again(lane, code, instruction, TFP_PC_PYTHON);

	if (known->layout.frame_owner == TFP_PYTHON_NONE && tfp_python_word(at + known->layout.type) != (uintptr_t)known->symbols.frame)
		return 0;
	uint32_t pc = again ? again : tfp_python_place(lane, &known->layout, &known->symbols, code, instruction, TFP_PC_PYTHON);
	return tfp_python_grave(code) == watch->graves[tfp_python_grave_of(code)] ? pc : 0;
}

/* The innermost frame of the thread whose state was copied; 0: none. *is_good: whether that is certain. */
static uintptr_t innermost(struct tfp_python_watch *watch, int *is_good)
{
	uintptr_t frame = of_state(watch, known->layout.thread_frame);
	uint64_t words[2];

	*is_good = 1;
	if (!frame || known->layout.cframe_frame == TFP_PYTHON_NONE)
		return frame;
	*is_good = !(frame & 7) && tfp_python_copy(&watch->copies, frame, words, sizeof words) == 0;
	return *is_good ? words[known->layout.cframe_frame / 8] : 0;
}

/* What stays of a frame while those that it called run. */
struct calling {
	uintptr_t frame, previous;
	uint64_t code, instruction;
	uint32_t is_fixed; /* it lies where the frames of other calls lie, too, and is not the innermost, which goes on */
};

static void note_calling(struct calling *calling, uintptr_t frame, uintptr_t at, int is_innermost)
{
	*calling = (struct calling){.frame = frame, .is_fixed = known->layout.frame_owner != TFP_PYTHON_NONE && !is_innermost &&
								!tfp_python_is_generator(&known->layout, at)};
	calling->previous = tfp_python_word(at + known->layout.frame_previous);
	calling->code = tfp_python_word(at + known->layout.frame_code);
	calling->instruction = tfp_python_word(at + known->layout.frame_instruction);
}

/*
 * Once its caller was copied, later than itself: whether it still runs, else that may be the caller of another one. is_entry: from there it
 * was entered from C, once, and may have made other calls since.
 */
static int still_calls(struct tfp_python_watch *watch, const struct calling *calling, int is_entry)
{
	uintptr_t at = (uintptr_t)watch->calling;

	if (!calling->is_fixed || known->layout.frame_bytes > sizeof watch->calling)
		return 1;
	return tfp_python_copy(&watch->copies, calling->frame, watch->calling, known->layout.frame_bytes) == 0 &&
	       tfp_python_word(at + known->layout.frame_previous) == calling->previous &&
	       tfp_python_word(at + known->layout.frame_code) == calling->code &&
	       (is_entry || tfp_python_word(at + known->layout.frame_instruction) == calling->instruction);
}

/* Fills lane.found, innermost first. How many; -1: in doubt. *is_cut: there are more. */
static int collect(struct tfp_python_watch *watch, int *is_cut)
{
	struct tfp_python_lane *lane = &watch->lane;
	struct calling calling = {.frame = 0};
	int is_good, count = 0, shims = 0;
	uintptr_t frame = innermost(watch, &is_good), at;

	tfp_python_copies_begin(&watch->copies);

	*is_cut = 0;
	lane->is_full = 0;
	lane->turn++;
	while (frame && is_good && !*is_cut) {
		uint64_t stretches = watch->copies.stretches;
		at = tfp_python_copy_frame(&watch->copies, frame, known->layout.frame_bytes);
		if (!at || (stretches != watch->copies.stretches && !still_calls(watch, &calling, tfp_python_is_shim(&known->layout, at))))
			return -1;
		note_calling(&calling, frame, at, count + shims == 0);
		frame = calling.previous;
		if (!frame && tfp_python_is_generator(&known->layout, at)) /* it has yielded meanwhile: its callers are not known */
			return -1;
		if (tfp_python_is_shim(&known->layout, at)) {
			is_good = ++shims < TFP_PYTHON_SHIMS;
		} else if (count == TFP_PYTHON_FRAMES) {
			*is_cut = 1;
		} else {
			lane->found[count] = take_frame(watch, at);
			is_good = lane->found[count++] != 0;
		}
	}
	return is_good ? count : -1;
}

static void note_graves(struct tfp_python_watch *watch)
{
	for (uint32_t i = 0; i < TFP_PYTHON_GRAVES; i++)
		watch->graves[i] = __atomic_load_n((const uint64_t *)&tfp_python_graves[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* The Python stack of the thread with this state, as a node; 0: it is in no Python code. */
static uint32_t read_stack(struct tfp_python_watch *watch, uintptr_t state)
{
	int count = -1, is_cut;

	note_graves(watch);
	if (copy_state(watch, state) == 0)
		count = collect(watch, &is_cut);
	uint32_t stack = count > 0 ? tfp_python_enter(&watch->lane, (uint32_t)count, is_cut) : 0;
	watch->good += count >= 0;
	watch->doubtful += count < 0 && !watch->lane.is_full;
	return count == 0 || stack ? stack : IN_DOUBT;
}

/* 1: the garbage collector runs: it has Python's lock, others that want to run Python code wait. 2: not known. */
static uint8_t collecting_now(struct tfp_python_watch *watch, uintptr_t interpreter)
{
	const struct tfp_python_layout *layout = &known->layout;
	uintptr_t base = layout->are_collections_global ? (uintptr_t)known->symbols.runtime : interpreter;
	uint32_t flag;

	if (layout->collecting == TFP_PYTHON_NONE || !base ||
	    tfp_python_copy(&watch->copies, base + layout->collecting, &flag, sizeof flag) || flag > 1)
		return 2;
	return (uint8_t)flag;
}

static void put(struct tfp_thread *self, struct watched *of, uint32_t stack, uint64_t until, uint64_t cpu)
{
	const struct tfp_python_watch *watch = tfp_state->python_watch;
	const struct tfp_python_held_look look = {until, until - of->told, cpu, of->serial, stack, of->collecting};

	if (watch->is_holding)
		tfp_python_hold(watch->held, &look);
	else
		TFP_PUT(self, &self->lanes[0], tfp_now(), python_time, .thread = look.thread, .stack = stack, .wall = look.wall, .cpu = cpu,
			.collecting = look.collecting);
	of->told = until;
}

/* The time up to the last look, where that has not been told. */
static void put_rest(struct tfp_thread *self, struct watched *of)
{
	if (of->looked > of->told)
		put(self, of, of->stack, of->looked, 0);
}

/* From here on it is followed: what was before nobody saw. */
static void begin(struct tfp_python_watch *watch, struct watched *of)
{
	of->looked = of->told = of->ran = tfp_now();
	of->cpu = tfp_clock_thread_ns(of->thread->tid);
	of->untold = 0;
	of->collecting = watch->collecting;
	of->stack = read_stack(watch, of->state);
}

/*
 * One look. Processor time is told where the thread runs at that moment, all that it used since that was last so: so short
 * bursts between looks are not told of the place where the thread waits.
 */
static void look(struct tfp_python_watch *watch, struct tfp_thread *self, struct watched *of, uint64_t cpu)
{
	uint64_t now = tfp_now(), used = cpu - of->cpu;

	if (now - of->looked > watch->pace.gap) {
		put_rest(self, of);
		begin(watch, of);
		return;
	}
	if (!used) {
		of->looked = now;
		of->collecting = watch->collecting;
		if (now - of->ran < tfp_pace_ticks(TFP_PACE_IDLE_AFTER_MS) || now - of->told >= tfp_pace_ticks(TFP_PACE_IDLE_MS))
			put(self, of, of->stack, now, 0);
		return;
	}
	watch->pace.ran = of->ran = now;
	uint32_t stack = read_stack(watch, of->state);
	int runs = is_running(of, cpu, now - of->looked);
	if (stack != of->stack)
		put_rest(self, of);
	of->untold += used;
	of->cpu = cpu;
	of->stack = stack;
	of->collecting = watch->collecting;
	of->looked = now;
	put(self, of, stack, now, runs ? of->untold : 0);
	of->untold = runs ? 0 : of->untold;
}

/* The recorder's state of the thread with this handle that lives; its number may be an ended one's, too. */
static struct tfp_thread *thread_of(uintptr_t handle)
{
	for (struct tfp_thread *at = tfp_state->threads; at; at = at->next)
		if (at->handle == handle && at->is_ready == 1 && tfp_clock_thread_ns(at->tid))
			return at;
	return NULL;
}

static int is_same(const struct watched *of, uintptr_t handle)
{
	return of->thread->serial == of->serial && of->thread->handle == handle;
}

/* Met for the first time, or its state's memory is another thread's now. 0: nothing is known of it. */
static int meet(struct tfp_python_watch *watch, struct watched *of, uintptr_t state, uintptr_t handle)
{
	struct tfp_thread *thread = thread_of(handle);

	*of = (struct watched){.state = state, .thread = thread};
	if (!thread || thread->is_own)
		return 0;
	of->serial = thread->serial;
	of->round = watch->round;
	begin(watch, of);
	return 1;
}

static struct watched *find(struct tfp_python_watch *watch, uintptr_t state)
{
	for (uint32_t i = 0; i < watch->count; i++)
		if (watch->threads[i].state == state)
			return &watch->threads[i];
	return NULL;
}

/* The thread whose state was copied. */
static void take_thread(struct tfp_python_watch *watch, struct tfp_thread *self, uintptr_t state)
{
	uintptr_t handle = of_state(watch, known->layout.thread_id);
	struct watched *of = find(watch, state);
	uint64_t cpu = of ? tfp_clock_thread_ns(of->thread->tid) : 0;

	if (of && of->round == watch->round && is_same(of, handle))
		return;
	if (of && !is_same(of, handle)) {
		put_rest(self, of);
		of->round = 0;
		if (!meet(watch, of, state, handle))
			*of = watch->threads[--watch->count];
	} else if (of && cpu && cpu >= of->cpu) {
		of->round = watch->round;
		look(watch, self, of, cpu);
	} else if (of) { /* it has ended, and nobody has told Python */
		of->round = 0;
	} else if (watch->count < THREADS_MOST - 1 || (watch->count < THREADS_MOST && handle == watch->first)) {
		watch->count += (uint32_t)meet(watch, &watch->threads[watch->count], state, handle);
	} else {
		watch->unlooked++;
	}
}

/* Those that were not met this time have ended. */
static void forget_ended(struct tfp_python_watch *watch, struct tfp_thread *self)
{
	for (uint32_t i = 0; i < watch->count;) {
		if (watch->threads[i].round == watch->round) {
			i++;
			continue;
		}
		put_rest(self, &watch->threads[i]);
		watch->threads[i] = watch->threads[--watch->count];
	}
}

/* What was told so far ends here: what comes next is met anew. */
static void forget_all(struct tfp_python_watch *watch, struct tfp_thread *self)
{
	for (uint32_t i = 0; i < watch->count; i++)
		put_rest(self, &watch->threads[i]);
	watch->count = 0;
}

/* All threads of the interpreter that were not looked at in this round. Returns the last one's state; 0: the way there was lost. */
static uintptr_t walk(struct tfp_python_watch *watch, struct tfp_thread *self, uintptr_t interpreter)
{
	uintptr_t state, next, last = 0;

	watch->unlooked = 0;
	if (tfp_python_copy(&watch->copies, interpreter + known->layout.interpreter_threads, &state, sizeof state))
		return 0;
	for (uint32_t i = 0; state && i < STATES_MOST; i++) {
		if (copy_state(watch, state) || of_state(watch, known->layout.thread_owner) != interpreter)
			return 0;
		next = of_state(watch, known->layout.thread_next);
		take_thread(watch, self, state);
		last = state;
		state = next;
	}
	return last;
}

/*
 * A state on the way may end, and its memory become another one's, so a way that ends is not yet a whole one. Threads are put in front of
 * the others: a whole one ends where the last did, or, where that thread has ended, twice at the same place.
 */
static int walk_all(struct tfp_python_watch *watch, struct tfp_thread *self, uintptr_t interpreter)
{
	uintptr_t expected = watch->last;

	for (int i = 0; i < WALKS; i++) {
		watch->last = walk(watch, self, interpreter);
		if (watch->last && watch->last == expected)
			return 1;
		expected = watch->last;
	}
	return 0;
}

/* Where there are several interpreters it is not known which one a thread runs, and its time is nobody's. */
static void look_at_all(struct tfp_python_watch *watch, struct tfp_thread *self)
{
	uintptr_t interpreter = (uintptr_t)known->symbols.first_interpreter(), next = 0;

	if (!interpreter || known->symbols.is_ending() ||
	    tfp_python_copy(&watch->copies, interpreter + known->layout.interpreter_next, &next, sizeof next) || next) {
		forget_all(watch, self);
		if (next && !watch->has_others)
			say("several", "There are several interpreters, and which one a thread runs is not known: where its time goes is "
				       "not read meanwhile.");
		watch->has_others |= next != 0;
		return;
	}
	watch->round++;
	watch->collecting = collecting_now(watch, interpreter);
	if (walk_all(watch, self, interpreter)) /* else who was not met may be there, and is looked at the next time */
		forget_ended(watch, self);
	if (watch->unlooked)
		tfp_loss_add(self, TFP_LOSS_python_time, watch->unlooked, tfp_now());
}

static uint32_t give_up(const char *why)
{
	say("absent", why);
	tfp_state->python_watch = NULL;
	return TFP_DRAIN_NEVER;
}

/* What was seen so far goes where it did. Returns whether there is anything to look for. */
static int follow_window(struct tfp_python_watch *watch, struct tfp_thread *self)
{
	int is_open = tfp_is_open != 0;

	if (watch->held ? is_open == watch->is_holding : !is_open) {
		forget_all(watch, self);
		watch->pace.due = 0;
	}
	if (!watch->held)
		return is_open;
	watch->is_holding = !is_open;
	tfp_python_held_tell(watch->held, self);
	return 1;
}

static uint32_t task(struct tfp_thread *self)
{
	struct tfp_python_watch *watch = tfp_state->python_watch;
	uint64_t now = tfp_now();

	if (!watch || tfp_python_when == TFP_PYTHON_NEVER || tfp_sys_is_sealed())
		return TFP_DRAIN_NEVER;
	if (tfp_python_copies_open(&watch->copies)) { /* not opened anew beside the host's threads: system_files.h says why */
		forget_all(watch, self);
		return give_up("The program closed the descriptor by which it was looked at: where its time goes is not read any more.");
	}
	tfp_look(self, &self->lanes[0]); /* of a host that calls nothing hooked for long the system's figures are read, too */
	uint32_t edge_ms = tfp_window_look(self);
	if (!follow_window(watch, self))
		return edge_ms < TFP_PACE_CLOSED_MS ? edge_ms : TFP_PACE_CLOSED_MS;
	if (now < watch->pace.due)
		return tfp_pace_wait(&watch->pace, now, edge_ms);
	uint64_t before = tfp_clock_thread_ns(self->tid);
	look_at_all(watch, self);
	if (!watch->good && watch->doubtful >= DOUBTS)
		return give_up("The interpreter's structures are not laid out as this version's are: where its time goes is not read.");
	uint32_t ms = tfp_pace_next(&watch->pace, period_ms, tfp_now(), tfp_clock_thread_ns(self->tid) - before);
	return edge_ms < ms ? edge_ms : ms;
}

void tfp_python_time_begin(uint32_t milliseconds)
{
	period_ms = milliseconds;
}

static const char *prepare(void)
{
	struct tfp_python_watch *watch;

	if (!known->sees_ends || !state_bytes())
		return "This interpreter does not tell when code objects end, or where its threads are: where its time goes is not read.";
	if (!tfp_kept_most())
		return "The limit of descriptors is below 256: where the time of Python code goes is not read.";
	if (tfp_kept_open(&memory, NULL, "/proc/self/mem", 0) != 0)
		return "/proc/self/mem cannot be opened: where the time of Python code goes is not read.";
	watch = tfp_pages_get(sizeof *watch, 1);
	if (!watch)
		return "There was no memory: where the time of Python code goes is not read.";
	if (tfp_window_awaits_slow())
		watch->held = tfp_pages_get(sizeof *watch->held, 1);
	watch->state_bytes = state_bytes();
	watch->copies.memory = &memory;
	watch->lane.copies = &watch->copies;
	watch->lane.sees_ends = 1;
	tfp_pace_begin(&watch->pace);
	for (struct tfp_thread *at = tfp_state->threads; at; at = at->next)
		if (at->tid == tfp_state->pid)
			watch->first = at->handle;
	tfp_state->python_watch = watch;
	return NULL;
}

void tfp_python_time_threading(void)
{
	uint32_t before = opener;

	if (!period_ms || tfp_python_when == TFP_PYTHON_NEVER || !tfp_state || tfp_state->phase != TFP_STATE_READY ||
	    before == tfp_state->pid || !tfp_kept_is_home() ||
	    !__atomic_compare_exchange_n((uint32_t *)&opener, &before, tfp_state->pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	const char *why = prepare();
	if (why)
		say("absent", why);
	else if (tfp_drain_task_set(TFP_TASK_PYTHON, task) == 0)
		say("on", "looked at by a thread of ours, which stops nobody");
}

void tfp_python_time_forked(void)
{
	if (opener)
		tfp_kept_close(&memory);
	opener = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of native code by time; see collectors/native_time.h. */
#include "collectors/native_time.h"

#include "collectors/heap.h"
#include "collectors/native_ring.h"
#include "collectors/pace.h"
#include "collectors/process.h"
#include "collectors/tasks.h"
#include "collectors/window.h"
#include "writer/drain.h"
#include "writer/format.h"
#include "writer/sys.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "writer/poison.h"

#define THREADS_MOST 256      /* looked at; the first thread is one of them */
#define FILES_MOST 64         /* of these, whose waits are looked at, */
#define FILES_LEAST 4         /* two that are for all threads, one more and a ring */
#define RINGS_MOST 64         /* and what they run, 68 KiB each, or 20 */
#define RING_AFTER_NS 20000000 /* that a thread has run before: one that lives shorter costs the host no number */
#define SWITCH_NS 600        /* what an event, though off, costs a thread each time it is given a processor, in a virtual machine */
#define SWITCH_SHARE 100     /* of the processor time of all threads one part may go into that; else there are no rings */
#define SWITCH_MS 200        /* between two looks at it */
#define SWITCHES_LEAST 200   /* with fewer it is not looked at */
#define REST_MS 30000        /* without rings the first time, then twice as long each time */
#define LIST_MS 100           /* between two looks which threads there are */
#define OTHERS_IDLE_MS 500    /* an idle thread that is not the first one is told of so often */
#define TEXT_BYTES 4096u      /* of the list of threads, read in pieces, and of a file */
#define IN_NO_CALL UINT16_MAX /* as the record has it */

/* A thread of the process. Times in ticks since origin. */
struct followed {
	uint32_t tid;
	uint32_t stack;  /* where it waits, if is_waiting, */
	uint16_t call;   /* and the system call */
	uint8_t is_waiting; /* since the last look, at which its processor clock was `cpu` */
	uint8_t is_file_asked, is_ring_asked;
	int16_t file, ring; /* of `files`, `rings`; -1: its waits, or what it runs, are not known */
	uint64_t looked, told, ran;
	uint64_t cpu, cpu_before; /* ns that it had used at the last look, and when it was met */
	uint64_t here; /* ticks that it waited there, in no record yet */
	uint64_t somewhere; /* ticks that it did not run, it is not known where yet */
	uint32_t asked_epoch; /* of objects, when a sample was asked for */
	uint64_t ran_ns, asked_ns; /* processor time in no record yet; for which a sample is asked for */
};

/* UNKNOWN: it has moved meanwhile. */
enum doing { UNKNOWN, RUNNING, WAITING };

/* In pages of its own, which a fork child finds empty. */
struct tfp_native_watch {
	struct tfp_pace pace;
	struct tfp_stacks *stacks;
	struct tfp_thread *self; /* our thread, while it looks */
	enum tfp_native_level level;
	uint32_t count, unlooked, ring_count;
	uint64_t list_due;   /* ticks */
	uint64_t switches_due, switches, used_ns; /* ticks; as the kernel counted them for the process then */
	uint32_t weigher;    /* our thread that asked last */
	uint64_t rest_until, rest_ms; /* ticks until which there are no rings */
	uint64_t now, now_ns; /* of this look, and by the clock of the samples */
	struct followed threads[THREADS_MOST];
	struct tfp_native_walk walk;
	char text[TEXT_BYTES];
};

static uint32_t period_ms; /* written at start-up */
/* Opened by `opener`; a fork child closes what it inherited. */
static struct tfp_kept list, memory, files[FILES_MOST];
static struct tfp_native_ring rings[RINGS_MOST];
static _Atomic uint32_t opener; /* pid; 0 = nobody */

static void say(const char *state, const char *detail)
{
	tfp_fact_framework("native_time", state, detail);
}

static const char *const runs[] = {
	[TFP_NATIVE_NONE] = "waits alone: the kernel refuses perf_event_open (kernel.perf_event_paranoid, or a container's rules)",
	[TFP_NATIVE_USER] = "waits, and by perf_event_open what runs; time in the kernel counts where the thread comes back",
	[TFP_NATIVE_ALL] = "waits, and by perf_event_open what runs, with its time in the kernel",
};

static uint64_t ticks_of(uint64_t ns)
{
	return (uint64_t)((double)ns * (double)tfp_state->second_ticks / 1e9);
}

static void put(const struct tfp_native_watch *watch, const struct followed *of, uint32_t stack, uint64_t cpu, uint64_t wall,
		uint64_t before, uint16_t call)
{
	TFP_PUT(watch->self, &watch->self->lanes[0], watch->now, native_time, .thread = of->tid, .stack = stack, .cpu = cpu, .wall = wall,
		.before = before, .call = call);
}

/* What it waited where it was last seen waiting. */
static void tell_wait(const struct tfp_native_watch *watch, struct followed *of)
{
	if (of->here)
		put(watch, of, of->stack, 0, of->here, watch->now - of->looked, of->call);
	of->here = 0;
	of->told = of->looked;
}

/* The stack, if the objects are still those of the moment it is of: `epoch`, of then. */
static uint32_t walk(struct tfp_native_watch *watch, uint32_t epoch, const struct tfp_native_registers *registers,
		     const struct tfp_native_copy *copy)
{
	long number = tfp_kept_number(&memory);
	uint32_t now = tfp_stacks_outside_begin(watch->stacks, number), stack = 0;

	if (now && now == epoch && number >= 0)
		stack = tfp_native_walk(watch->stacks, &watch->walk, registers, copy);
	if (now)
		tfp_stacks_outside_end(watch->stacks);
	return stack;
}

/* Which objects there are now; 0: one is being unmapped. */
static uint32_t epoch_now(struct tfp_native_watch *watch)
{
	uint32_t now = tfp_stacks_outside_begin(watch->stacks, -1);

	if (now)
		tfp_stacks_outside_end(watch->stacks);
	return now;
}

/* The sample that was asked for at an earlier look, if it is there. */
static void take_sample(struct tfp_native_watch *watch, struct followed *of)
{
	const struct tfp_native_ring *ring = of->ring < 0 ? NULL : &rings[of->ring];
	struct tfp_native_sample sample;

	while (ring && tfp_native_ring_next(ring, &sample)) {
		uint32_t stack = walk(watch, of->asked_epoch, &sample.registers, &sample.copy);
		uint64_t before = watch->now_ns > sample.time_ns ? ticks_of(watch->now_ns - sample.time_ns) : 0;
		if (tfp_is_open && of->asked_ns)
			put(watch, of, stack, of->asked_ns, 0, before, IN_NO_CALL);
		of->asked_ns = 0;
		tfp_native_ring_drop(ring);
	}
}

static const char *hexadecimal(const char *at, uintptr_t *value)
{
	if (!tfp_begins_with(at, "0x"))
		return NULL;
	at += 2;
	for (*value = 0;; at++) {
		int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
		if (digit < 0)
			return at;
		*value = *value << 4 | (uintptr_t)digit;
	}
}

/*
 * "running", or, of a thread that waits, the number of the system call and its six arguments, or -1, then stack pointer and code address.
 * 0: it does not wait, or the text is another one.
 */
static int read_call(const char *text, uint16_t *call, struct tfp_native_registers *registers)
{
	uintptr_t values[8], number = 0;
	int count = 0, is_none = tfp_begins_with(text, "-1 ");
	const char *at = text + is_none;

	for (; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uintptr_t)(*at - '0');
	while (*at == ' ' && count < 8) {
		at = hexadecimal(at + 1, &values[count++]);
		if (!at)
			return 0;
	}
	if (count != (is_none ? 2 : 8))
		return 0;
	*call = is_none || number >= IN_NO_CALL ? IN_NO_CALL : (uint16_t)number;
	*registers = (struct tfp_native_registers){.sp = values[count - 2], .pc = values[count - 1]};
	return 1;
}

/*
 * The system call that the thread waits in. Behind a stop the kernel goes on with a wait that has a limit by restart_syscall, from the same
 * place: then the call is the one that was seen there before. Where none was it stays restart_syscall.
 */
static uint16_t waits_in(const struct followed *of, uint32_t stack, uint16_t call)
{
	return call == SYS_restart_syscall && stack && stack == of->stack ? of->call : call;
}

/* Where it waits, if it does. It has not moved meanwhile: its clock stands at `cpu`. */
static enum doing find_wait(struct tfp_native_watch *watch, struct followed *of, uint64_t cpu)
{
	struct tfp_native_registers registers;
	uint32_t epoch = epoch_now(watch);
	uint16_t call;
	long got = of->file < 0 ? -1 : tfp_kept_read(&files[of->file], watch->text, sizeof watch->text - 1);

	if (got <= 0) /* nobody says: one that has run is sampled as soon as it goes on; asked for later, that were further away */
		return RUNNING;
	watch->text[got] = 0;
	if (tfp_begins_with(watch->text, "running"))
		return RUNNING;
	if (!read_call(watch->text, &call, &registers))
		return UNKNOWN;
	uint32_t stack = walk(watch, epoch, &registers, NULL);
	if (tfp_clock_thread_ns(of->tid) != cpu)
		return UNKNOWN;
	of->call = waits_in(of, stack, call);
	of->stack = stack;
	return WAITING;
}

/* From here on it is followed: what was before nobody saw. */
static void begin(struct tfp_native_watch *watch, struct followed *of, uint64_t cpu)
{
	of->looked = of->told = of->ran = watch->now;
	of->here = of->somewhere = of->ran_ns = 0;
	of->cpu = cpu;
	of->is_waiting = find_wait(watch, of, cpu) == WAITING;
}

/* The program may have given up its rights since they were looked at: then without the kernel's code. */
static long try_ring(struct tfp_native_watch *watch, struct tfp_native_ring *ring, uint32_t tid)
{
	long error = tfp_native_ring_open(ring, tid, watch->level);

	if ((error != -EACCES && error != -EPERM) || watch->level != TFP_NATIVE_ALL)
		return error;
	error = tfp_native_ring_open(ring, tid, TFP_NATIVE_USER);
	if (!error) {
		watch->level = TFP_NATIVE_USER;
		say("on", runs[watch->level]);
	}
	return error;
}

static void open_ring(struct tfp_native_watch *watch, struct followed *of)
{
	uint32_t most;
	int16_t i = 0;

	if (watch->now < watch->rest_until)
		return;
	of->is_ring_asked = 1;
	most = tfp_native_ring_most();
	while (i < RINGS_MOST && rings[i].pages)
		i++;
	if (i < RINGS_MOST && watch->ring_count < most && tfp_kept_room(watch->ring_count) &&
	    try_ring(watch, &rings[i], of->tid) == 0) {
		of->ring = i;
		watch->ring_count++;
	}
	if (of->ring < 0)
		tfp_loss_add(watch->self, TFP_LOSS_native_unsampled, 1, watch->now);
}

/* It runs at this moment: what it ran since that was last so is told of what it runs. */
static void ask_sample(struct tfp_native_watch *watch, struct followed *of)
{
	if (!of->is_ring_asked && watch->level && of->cpu - of->cpu_before >= RING_AFTER_NS)
		open_ring(watch, of);
	if (of->ring >= 0 && of->ran_ns && !of->asked_ns) {
		of->asked_epoch = epoch_now(watch); /* of before the sample: a later one may be of after it */
		if (tfp_native_ring_ask(&rings[of->ring]))
			of->ran_ns = 0;
	}
	if (of->ring >= 0)
		of->asked_ns += of->ran_ns;
	of->ran_ns = 0; /* where nothing can be asked it is told of nothing, not of what is sampled once something can */
}

static void close_ring(struct tfp_native_watch *watch, struct followed *of)
{
	if (of->ring >= 0) {
		tfp_native_ring_close(&rings[of->ring]);
		watch->ring_count--;
	}
	of->ring = -1;
	of->is_ring_asked = 0;
	of->asked_ns = 0;
}

static uint64_t used_ns(const struct rusage *use)
{
	return ((uint64_t)use->ru_utime.tv_sec + (uint64_t)use->ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)use->ru_utime.tv_usec + (uint64_t)use->ru_stime.tv_usec) * 1000;
}

/* Whether rings would have cost too much since it was asked last, at first since the process began. Without what our own thread did. */
static int are_switches_dear(struct tfp_native_watch *watch)
{
	struct rusage all = {.ru_nvcsw = 0}, own = {.ru_nvcsw = 0};

	tfp_sys(SYS_getrusage, RUSAGE_SELF, (long)&all, 0, 0, 0, 0);
	tfp_sys(SYS_getrusage, RUSAGE_THREAD, (long)&own, 0, 0, 0, 0);
	uint64_t switches = (uint64_t)(all.ru_nvcsw + all.ru_nivcsw - own.ru_nvcsw - own.ru_nivcsw) - watch->switches;
	uint64_t used = used_ns(&all) - used_ns(&own) - watch->used_ns;
	int is_other = watch->weigher && watch->weigher != watch->self->tid; /* ours was started anew: what the last one did is in both */
	watch->weigher = watch->self->tid;
	watch->switches += switches;
	watch->used_ns += used;
	return !is_other && switches >= SWITCHES_LEAST && switches * SWITCH_NS * SWITCH_SHARE > used;
}

/* Where threads switch so often that rings cost more than they may, there are none for some time. */
static void weigh_switches(struct tfp_native_watch *watch)
{
	if (watch->now < watch->switches_due)
		return;
	watch->switches_due = watch->now + tfp_pace_ticks(SWITCH_MS);
	if (!are_switches_dear(watch) || watch->now < watch->rest_until)
		return;
	watch->rest_ms = watch->rest_ms ? 2 * watch->rest_ms : REST_MS;
	watch->rest_until = watch->now + tfp_pace_ticks(watch->rest_ms);
	tfp_loss_add(watch->self, TFP_LOSS_native_unsampled, 1, watch->now);
	for (uint32_t i = 0; i < watch->count; i++)
		close_ring(watch, &watch->threads[i]);
}

static void look(struct tfp_native_watch *watch, struct followed *of, uint64_t cpu)
{
	uint64_t elapsed = watch->now - of->looked, used = ticks_of(cpu - of->cpu);
	uint64_t idle_ms = of->tid == tfp_state->pid ? TFP_PACE_IDLE_MS : OTHERS_IDLE_MS;

	take_sample(watch, of);
	if (elapsed > watch->pace.gap) {
		tell_wait(watch, of);
		begin(watch, of, cpu);
		return;
	}
	if (of->is_waiting && cpu == of->cpu) {
		of->here += elapsed;
		of->looked = watch->now;
		if (watch->now - of->ran < tfp_pace_ticks(TFP_PACE_IDLE_AFTER_MS) || watch->now - of->told >= tfp_pace_ticks(idle_ms))
			tell_wait(watch, of);
		return;
	}
	tell_wait(watch, of);
	of->somewhere = of->file < 0 ? 0 : of->somewhere + (elapsed > used ? elapsed - used : 0);
	of->ran_ns += cpu - of->cpu;
	if (cpu != of->cpu)
		watch->pace.ran = of->ran = watch->now;
	of->looked = watch->now;
	of->cpu = cpu;
	enum doing doing = find_wait(watch, of, cpu);
	of->is_waiting = doing == WAITING;
	if (doing == WAITING) {
		of->here = of->somewhere;
		of->somewhere = 0;
		tell_wait(watch, of);
	} else if (doing == RUNNING) {
		ask_sample(watch, of);
	}
}

/* Its waits are looked at where there is room for one more file. */
static void open_file(struct tfp_native_watch *watch, struct followed *of, const char *name)
{
	char path[32];
	size_t length = tfp_length(name);
	int16_t i = 0;

	of->is_file_asked = 1;
	while (i < FILES_MOST && files[i].number)
		i++;
	if (length <= 12 && i < FILES_MOST && tfp_kept_room(watch->ring_count)) {
		tfp_copy(path, name, length);
		tfp_copy(path + length, "/syscall", 9);
		if (tfp_kept_open(&files[i], &list, path, 0) == 0)
			of->file = i;
	}
	if (of->file < 0 && tfp_clock_thread_ns(of->tid)) /* else it has ended */
		tfp_loss_add(watch->self, TFP_LOSS_native_unsampled, 1, watch->now);
}

static int meet(void *context, uint32_t tid, const char *name)
{
	struct tfp_native_watch *watch = context;
	struct followed *of = watch->threads, *end = watch->threads + watch->count;

	while (of < end && of->tid != tid)
		of++;
	if (tid == watch->self->tid || tid == __atomic_load_n(&tfp_state->drainer.tid, __ATOMIC_RELAXED))
		return 0;
	if (of == watch->threads + THREADS_MOST) {
		watch->unlooked++;
		return 0;
	}
	if (of == end) {
		*of = (struct followed){.tid = tid, .file = -1, .ring = -1, .cpu_before = tfp_clock_thread_ns(tid)};
		if (tid == tfp_state->pid)
			open_file(watch, of, name);
		begin(watch, of, of->cpu_before);
		watch->count++;
	} else if (!of->is_file_asked) {
		open_file(watch, of, name); /* met twice: one that lives shorter costs the host no number */
	}
	return 0;
}

static void forget(struct tfp_native_watch *watch, struct followed *of)
{
	take_sample(watch, of);
	tell_wait(watch, of);
	close_ring(watch, of);
	if (of->file >= 0)
		tfp_kept_close(&files[of->file]);
	*of = watch->threads[--watch->count];
}

static void forget_all(struct tfp_native_watch *watch)
{
	while (watch->count)
		forget(watch, &watch->threads[watch->count - 1]);
}

/* Who there is new; the list ends early where a thread in it ends meanwhile, so who is not in it may be there. 0: it is gone. */
static int meet_all(struct tfp_native_watch *watch)
{
	if (watch->now < watch->list_due)
		return 1;
	watch->list_due = watch->now + tfp_pace_ticks(LIST_MS);
	watch->unlooked = 0;
	int result = tfp_tasks_each(&list, watch->text, sizeof watch->text, meet, watch);
	if (watch->unlooked)
		tfp_loss_add(watch->self, TFP_LOSS_native_time, watch->unlooked, watch->now);
	return result >= 0;
}

static void look_at_all(struct tfp_native_watch *watch)
{
	weigh_switches(watch);
	for (uint32_t i = 0; i < watch->count;) {
		struct followed *of = &watch->threads[i];
		uint64_t cpu = tfp_clock_thread_ns(of->tid);
		if (cpu && cpu >= of->cpu) {
			look(watch, of, cpu);
			i++;
		} else { /* it has ended, or its number is another one's */
			forget(watch, of);
		}
	}
}

static uint32_t give_up(struct tfp_native_watch *watch)
{
	forget_all(watch);
	say("absent", "The program closed our descriptors: where native code runs and waits is not looked at any more.");
	tfp_state->native_watch = NULL;
	return TFP_DRAIN_NEVER;
}

static uint32_t task(struct tfp_thread *self)
{
	struct tfp_native_watch *watch = tfp_state->native_watch;

	if (!watch || tfp_sys_is_sealed())
		return TFP_DRAIN_NEVER;
	watch->self = self;
	watch->now = tfp_now();
	watch->now_ns = tfp_clock_monotonic_ns();
	tfp_look(self, &self->lanes[0]); /* of a host that calls nothing hooked for long the system's figures are read, too */
	uint32_t edge_ms = tfp_window_look(self);
	if (!tfp_is_open) {
		forget_all(watch);
		watch->list_due = watch->pace.due = 0;
		return edge_ms < TFP_PACE_CLOSED_MS ? edge_ms : TFP_PACE_CLOSED_MS;
	}
	if (watch->now < watch->pace.due)
		return tfp_pace_wait(&watch->pace, watch->now, edge_ms);
	uint64_t before = tfp_clock_thread_ns(self->tid);
	if (!meet_all(watch))
		return give_up(watch);
	look_at_all(watch);
	uint32_t ms = tfp_pace_next(&watch->pace, period_ms, tfp_now(), tfp_clock_thread_ns(self->tid) - before);
	return edge_ms < ms ? edge_ms : ms;
}

void tfp_native_time_begin(uint32_t milliseconds)
{
	period_ms = milliseconds;
}

/* Whether no filter of system calls is in force for this thread, which the ones that it starts inherit. */
static int is_unfiltered(void)
{
	long mode = tfp_sys(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0);

	return mode == 0 || mode == -EINVAL; /* the latter: a kernel that knows none */
}

static int sees_waits(void)
{
	struct tfp_kept own;
	long error = tfp_kept_open(&own, NULL, "/proc/thread-self/syscall", 0);

	if (!error)
		tfp_kept_close(&own);
	return !error;
}

/* What can be looked at, said in the log; 0: nothing. */
static int choose_level(struct tfp_native_watch *watch)
{
	int is_filtered = !is_unfiltered(), has_waits = sees_waits(), is_locked = 0;
	long error;

	if (!is_filtered)
		watch->level = tfp_native_ring_level(&error);
	if (watch->level && !tfp_native_ring_most()) {
		watch->level = TFP_NATIVE_NONE;
		is_locked = 1;
	}
	if (has_waits && is_locked)
		say("partly", "waits alone: the limit of locked memory (ulimit -l) is too low to share it with the program");
	else if (has_waits && is_filtered)
		say("partly", "waits alone: a filter of system calls is in force, under which perf_event_open is not tried");
	else if (has_waits)
		say(watch->level ? "on" : "partly", runs[watch->level]);
	else if (watch->level)
		say("partly", "what runs, by perf_event_open; this kernel does not say where threads wait");
	return has_waits || watch->level;
}

static const char *prepare(void)
{
	if (!tfp_state->stacks)
		return "There are no stacks (STACKS=0): where native code runs and waits is not looked at.";
	if (tfp_kept_room(0) < FILES_LEAST)
		return "The limit of descriptors is below 512: where native code runs and waits is not looked at.";
	if (tfp_kept_open(&memory, NULL, "/proc/self/mem", 0) || tfp_tasks_open(&list))
		return "/proc/self cannot be opened: where native code runs and waits is not looked at.";
	struct tfp_native_watch *watch = tfp_pages_get(sizeof *watch, 1);
	if (!watch)
		return "There was no memory: where native code runs and waits is not looked at.";
	watch->stacks = tfp_state->stacks;
	tfp_pace_begin(&watch->pace);
	if (!choose_level(watch))
		return "The kernel neither says where threads wait nor allows perf_event_open: native code is not looked at.";
	tfp_state->native_watch = watch;
	return NULL;
}

void tfp_native_time_threading(void)
{
	uint32_t before = opener;

	if (!period_ms || !tfp_state || tfp_state->phase != TFP_STATE_READY || before == tfp_state->pid || !tfp_kept_is_home() ||
	    !__atomic_compare_exchange_n((uint32_t *)&opener, &before, tfp_state->pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	const char *why = prepare();
	if (why) {
		tfp_kept_close(&memory);
		tfp_kept_close(&list);
		say("absent", why);
	} else {
		tfp_drain_task_set(TFP_TASK_NATIVE, task);
	}
}

void tfp_native_time_forked(void)
{
	if (opener) {
		tfp_kept_close(&list);
		tfp_kept_close(&memory);
		for (int i = 0; i < FILES_MOST; i++)
			tfp_kept_close(&files[i]);
		for (int i = 0; i < RINGS_MOST; i++)
			tfp_native_ring_leave(&rings[i]);
	}
	opener = 0;
}

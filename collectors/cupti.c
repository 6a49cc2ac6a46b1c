/* SPDX-License-Identifier: Apache-2.0 */
/* When CUPTI is entered, asked, and left; see collectors/cupti.h. */
#include "collectors/cupti.h"

#include "collectors/cupti_state.h"
#include "collectors/cupti_tools.h"
#include "collectors/gpu_calls.h"
#include "collectors/process.h"
#include "collectors/window.h"

#include "writer/records.h"
#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

#define WITH_BLOCKS 22u /* 12.4: its overhead records carry a block that the client frees */
#define OLDEST 17u /* cuptiGetVersion of 11.6 and 11.7: records of older ones have another front */

struct tfp_cupti *tfp_cupti;
struct tfp_cupti_options tfp_cupti_options; /* written by tfp_cupti_begin */

static _Atomic int is_entered; /* in this process or one that it was forked from, where CUDA is of no use any more */

void tfp_cupti_begin(const struct tfp_cupti_options *options)
{
	static const struct tfp_gpu_engine engine = {
		.enter = tfp_cupti_enter,
		.window = tfp_cupti_window,
		.widen = tfp_cupti_widen,
		.is_recording = tfp_cupti_is_recording,
	};

	tfp_cupti_options = *options;
	tfp_gpu_engine_set(&engine);
}

int tfp_cupti_is_recording(void)
{
	const struct tfp_cupti *cupti = tfp_cupti;

	if (cupti && cupti->phase == TFP_CUPTI_ON)
		return cupti->is_enabled != 0;
	if (cupti && cupti->phase == TFP_CUPTI_ENDED)
		return -2;
	return cupti && (cupti->phase == TFP_CUPTI_TAKEN || cupti->phase == TFP_CUPTI_YIELDED) ? -1 : 0;
}

/* Which CUPTI this is, once. */
static void tell_which(struct tfp_cupti *cupti)
{
	if (!cupti->api.get_version || cupti->is_told++)
		return;
	tfp_fact_pair(TFP_TAG_host, "cupti", cupti->api.path);
	if (cupti->api.version)
		tfp_cupti_pair(TFP_TAG_host, "cupti version", "", cupti->api.version);
	if (cupti->api.driver)
		tfp_cupti_pair(TFP_TAG_host, "CUDA of the driver", "", cupti->api.driver);
}

/* Latched: CUPTI is not touched again. */
static void refuse(struct tfp_cupti *cupti, const char *text, uint32_t result)
{
	cupti->result = result;
	cupti->phase = TFP_CUPTI_REFUSED;
	tell_which(cupti);
	if (result == TFP_CUPTI_INSUFFICIENT_PRIVILEGES)
		text = "CUPTI wants more rights: the driver's option NVreg_RestrictProfilingToAdminUsers=0, or CAP_SYS_ADMIN. Only "
		       "the host's calls are recorded. Result ";
	tfp_cupti_note("cupti_refused", text, result);
	tfp_cupti_put_state(TFP_GPU_STATE_REFUSED, result);
}

/* The library is found and is one that we can read. 0, or -1: refused, or too early. */
static int find(struct tfp_cupti *cupti, int devices)
{
	struct tfp_cupti_api *api = &cupti->api;
	const char *tool = tfp_cupti_tool_here(); /* also before it is taken again: the tool may have come meanwhile */

	if (tool) {
		refuse(cupti, tool, TFP_CUPTI_MULTIPLE_SUBSCRIBERS);
		return -1;
	}
	if (!api->get_version && tfp_cupti_open(api, &tfp_cupti_options.places)) {
		refuse(cupti, "No libcupti could be opened that the driver serves: only the host's calls are recorded. Code ", 0);
		return -1;
	}
	/* Without a device that answers its calls recurse until the stack is used up. Our thread asks again. */
	cupti->is_fragile = tfp_cupti_is_fragile(api) && devices < 1;
	if (cupti->is_fragile)
		return -1;
	uint32_t result = api->version ? 0 : (uint32_t)api->get_version(&api->version);
	if (result || api->version < OLDEST) {
		refuse(cupti, result ? "CUPTI does not tell its version; result " : "CUPTI is older than 11.7: version ",
		       result ? result : api->version);
		return -1;
	}
	/* By the version, not by the record's size: what lies there in an older one's longer record is no block of ours to free. */
	cupti->decoder.release = api->version >= WITH_BLOCKS ? tfp_cupti_options.release : NULL;
	return 0;
}

/* TAKEN is left when the other one has left; the state is written when it changes. */
static void be_taken(struct tfp_cupti *cupti)
{
	uint32_t before = __atomic_exchange_n((uint32_t *)&cupti->phase, TFP_CUPTI_TAKEN, __ATOMIC_ACQ_REL);

	if (before != TFP_CUPTI_TAKEN)
		tfp_cupti_put_state(TFP_GPU_STATE_TAKEN, TFP_CUPTI_MULTIPLE_SUBSCRIBERS);
}

static int subscribe(struct tfp_cupti *cupti)
{
	if (find(cupti, tfp_cupti_devices()))
		return -1;
	tfp_cupti_options.opened();
	uint32_t result = (uint32_t)cupti->api.subscribe(&cupti->subscriber, tfp_cupti_called, NULL);
	if (result == TFP_CUPTI_MULTIPLE_SUBSCRIBERS) {
		be_taken(cupti);
		return -1;
	}
	if (!result)
		result = tfp_cupti_prepare(cupti);
	if (result) {
		if (cupti->subscriber)
			cupti->api.unsubscribe(cupti->subscriber);
		refuse(cupti, "CUPTI could not be entered: only the host's calls are recorded. Result ", result);
		return -1;
	}
	cupti->phase = TFP_CUPTI_ON;
	tell_which(cupti);
	return 0;
}

/* Where calls were made unseen before, the first one seen from here on begins it: one that is in progress now was entered outside. */
static void begin_range(struct tfp_cupti *cupti)
{
	int is_first = !cupti->decoder.wanted.count || cupti->is_deaf;

	tfp_cupti_range_begin(&cupti->decoder.wanted, is_first ? cupti->newest + 1 : TFP_CUPTI_AWAITED);
}

static void open_up(struct tfp_cupti *cupti)
{
	tfp_cupti_ask_callbacks(cupti, 2);
	uint32_t result = cupti->is_enabled ? TFP_CUPTI_SUCCESS : tfp_cupti_enable(cupti);
	if (result) {
		cupti->api.unsubscribe(cupti->subscriber);
		refuse(cupti, "CUPTI does not record kernels: only the host's calls are recorded. Result ", result);
		return;
	}
	if (cupti->close_time || !cupti->decoder.wanted.count || !cupti->is_enabled)
		begin_range(cupti);
	cupti->close_time = 0;
	cupti->quiet_flushes = 0;
	cupti->is_enabled = 1;
	tfp_cupti_options.at_exit();
	tfp_cupti_put_state(TFP_GPU_STATE_CUPTI, 0);
}

/* Nothing new is wanted; what runs on the device is waited for by our thread, which then comes to shut_down. */
static void begin_closing(struct tfp_cupti *cupti)
{
	tfp_cupti_range_last(&cupti->decoder.wanted)->to = cupti->is_deaf ? UINT64_MAX : cupti->newest;
	cupti->quiet_flushes = 0;
	cupti->close_time = tfp_ticks();
	tfp_cupti_put_state(TFP_GPU_STATE_CLOSED, 0);
}

#define QUIET_FLUSHES 2      /* that brought nothing, once the last launch of the window was seen to have run */
#define CLOSE_SECONDS 60     /* a kernel that runs longer is lost to the window that it was launched in, and said to be */

static int is_settled(const struct tfp_cupti *cupti)
{
	if (tfp_ticks() - cupti->close_time > CLOSE_SECONDS * tfp_state->second_ticks)
		return 1;
	return cupti->quiet_flushes >= QUIET_FLUSHES && tfp_cupti_outstanding(cupti) != TFP_CUPTI_UNWAITED;
}

static void shut_down(struct tfp_cupti *cupti)
{
	tfp_cupti_disable(cupti);
	cupti->is_enabled = 0;
	cupti->close_time = 0;
	tfp_cupti_ask_callbacks(cupti, tfp_gpu_counts_launches());
}

/* One step towards what is wanted. Under is_busy. */
static void step(struct tfp_cupti *cupti, int may_wait)
{
	int is_wanted = cupti->is_open || tfp_gpu_counts_launches();

	if (tfp_cupti_is_held() && (cupti->phase == TFP_CUPTI_KNOWN || cupti->phase == TFP_CUPTI_TAKEN)) {
		be_taken(cupti);
		cupti->phase = TFP_CUPTI_YIELDED;
	}
	if ((cupti->phase == TFP_CUPTI_KNOWN || (cupti->phase == TFP_CUPTI_TAKEN && may_wait)) && is_wanted && subscribe(cupti))
		return;
	if (cupti->phase != TFP_CUPTI_ON)
		return;
	if (cupti->is_open && (!cupti->is_enabled || cupti->close_time))
		open_up(cupti);
	else if (!cupti->is_open && !cupti->is_enabled)
		tfp_cupti_ask_callbacks(cupti, tfp_gpu_counts_launches());
	else if (!cupti->is_open && !cupti->close_time)
		begin_closing(cupti);
	else if (!cupti->is_open && may_wait && is_settled(cupti))
		shut_down(cupti);
}

static int take_role(struct tfp_cupti *cupti)
{
	uint32_t free_state = 0;

	return __atomic_compare_exchange_n((uint32_t *)&cupti->is_busy, &free_state, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#define ROLE_MS 100 /* an edge by launch number waits that long for our thread to finish a step */

/* The role, at once or (a window's edge that must take effect before the launch goes on) soon. */
static int get_role(struct tfp_cupti *cupti, int is_edge)
{
	uint64_t begin = tfp_ticks();

	while (!take_role(cupti))
		if (!is_edge || tfp_ticks() - begin > ROLE_MS * (tfp_state->second_ticks / 1000) ||
		    tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0) < 0)
			return 0;
	return 1;
}

void tfp_cupti_apply(int may_wait)
{
	struct tfp_cupti *cupti = tfp_cupti;
	uint32_t before;

	do { /* who finds the role taken leaves its wish to the one who has it */
		if (!cupti || !cupti->phase || cupti->phase >= TFP_CUPTI_REFUSED || !get_role(cupti, !may_wait))
			return;
		struct tfp_thread *self = tfp_own_begin();
		before = cupti->is_open;
		step(cupti, may_wait);
		tfp_own_end(self);
		__atomic_store_n((uint32_t *)&cupti->is_busy, 0, __ATOMIC_SEQ_CST);
	} while (cupti->is_open != before);
}

void tfp_cupti_window(int may_call)
{
	struct tfp_cupti *cupti = tfp_cupti;
	uint32_t is_open;

	if (!cupti || !cupti->phase)
		return;
	do { /* of two threads at an edge the one that stores last sees how it is */
		is_open = tfp_is_open;
		cupti->is_open = is_open;
	} while (is_open != tfp_is_open);
	if (may_call)
		tfp_cupti_apply(0);
	else
		tfp_drain_wake();
}

int tfp_cupti_enter(void)
{
	int before = 0;

	if (!tfp_state || tfp_state->phase != TFP_STATE_READY ||
	    !__atomic_compare_exchange_n((int *)&is_entered, &before, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -1;
	struct tfp_cupti *cupti = tfp_pages_get(sizeof *cupti, 1);
	if (!cupti)
		return -1;
	cupti->decoder.tables = tfp_cupti_tables_make(tfp_store_fact);
	if (!cupti->decoder.tables) {
		tfp_pages_put(cupti, sizeof *cupti);
		return -1;
	}
	cupti->decoder.fact = tfp_store_fact;
	cupti->decoder.newest = &cupti->newest;
	tfp_cupti = cupti;
	__atomic_store_n((uint32_t *)&cupti->phase, TFP_CUPTI_KNOWN, __ATOMIC_SEQ_CST);
	tfp_cupti_window(1);
	if (cupti->phase < TFP_CUPTI_REFUSED) { /* also for windows to come, and for another profiler to leave */
		tfp_drain_task_set(TFP_TASK_CUPTI, tfp_cupti_task);
		tfp_drain_start(tfp_cupti_options.create);
	}
	return cupti->phase < TFP_CUPTI_REFUSED ? 0 : -1;
}

#define SETTLE_MS 100 /* waited for work in progress before it is left: flushed by force it would have no end */

/* Our thread reads meanwhile. */
static __attribute__((noinline)) void settle(struct tfp_cupti *cupti)
{
	uint64_t begin = tfp_ticks();

	cupti->api.flush_all(0);
	while (cupti->is_enabled && tfp_drain_has_thread() && tfp_cupti_outstanding(cupti) &&
	       tfp_ticks() - begin < SETTLE_MS * (tfp_state->second_ticks / 1000)) {
		tfp_drain_wake();
		tfp_futex_wait((uint32_t *)&cupti->end_done, 0, 2); /* ms; nobody wakes it */
		cupti->api.flush_all(0);
	}
}

/* CUPTI as it was found. The buffers that it still holds come back first, or the other one would get them. */
static void leave(struct tfp_cupti *cupti)
{
	if (cupti->is_enabled)
		tfp_cupti_disable(cupti);
	tfp_cupti_ask_callbacks(cupti, 0);
	cupti->api.flush_all(1);
	tfp_cupti_restore(cupti);
	cupti->api.unsubscribe(cupti->subscriber);
	cupti->is_enabled = 0;
	cupti->close_time = 0;
}

void tfp_cupti_step_aside(void)
{
	struct tfp_cupti *cupti = tfp_cupti;
	uint32_t on = TFP_CUPTI_ON;

	if (!cupti || cupti->phase < TFP_CUPTI_KNOWN || cupti->phase > TFP_CUPTI_TAKEN || !get_role(cupti, 1))
		return;
	struct tfp_thread *self = tfp_own_begin();
	if (cupti->phase == TFP_CUPTI_ON)
		settle(cupti);
	if (__atomic_compare_exchange_n((uint32_t *)&cupti->phase, &on, TFP_CUPTI_YIELDED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		leave(cupti);
	tfp_own_end(self);
	__atomic_store_n((uint32_t *)&cupti->is_busy, 0, __ATOMIC_RELEASE);
	tfp_drain_wake();
}

void tfp_cupti_come_back(void)
{
	uint32_t yielded = TFP_CUPTI_YIELDED;

	if (!tfp_cupti || !__atomic_compare_exchange_n((uint32_t *)&tfp_cupti->phase, &yielded, TFP_CUPTI_KNOWN, 0, __ATOMIC_ACQ_REL,
						      __ATOMIC_RELAXED))
		return;
	tfp_drain_wake();
}

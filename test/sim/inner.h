/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the simulated GPU: the objects, and the functions that the driver front calls. Fronts other than libcuda
 * include core.h alone.
 *
 * Rule: all fields of all objects are guarded by one lock, sim_lock(), except where a comment says otherwise. Functions
 * whose name ends in _locked want it held. Objects are never unmapped: a stale handle is recognised by its magic.
 */
#ifndef TFPROF_TEST_SIM_INNER_H
#define TFPROF_TEST_SIM_INNER_H

#include "core.h"

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_LEGACY ((void *)1)		/* CU_STREAM_LEGACY */
#define SIM_PER_THREAD ((void *)2)	/* CU_STREAM_PER_THREAD */
#define SIM_DEVICES_MAX 16
#define SIM_SLOTS_MAX 128		/* kernels at once on one device: CUDA's bound for resident grids */
#define SIM_ENGINES 3			/* copies to the device, from it, within it */

enum sim_magic {
	SIM_MAGIC_CONTEXT = 0x51c0de01,
	SIM_MAGIC_STREAM,
	SIM_MAGIC_EVENT,
	SIM_MAGIC_MODULE,
	SIM_MAGIC_FUNCTION,
	SIM_MAGIC_GRAPH,
	SIM_MAGIC_NODE,
	SIM_MAGIC_EXEC,
	SIM_MAGIC_POOL,
	SIM_MAGIC_ARRAY,
	SIM_MAGIC_PHYSICAL,
	SIM_MAGIC_CONDITION,
	SIM_MAGIC_USER,
	SIM_MAGIC_TEXTURE,
	SIM_MAGIC_RESOURCES,
	SIM_MAGIC_DEAD = 0xdeadde01,
};

struct sim_capture;
struct sim_arena;
struct sim_user;

/* The device's part that moves; struct sim_device says what it is. */
struct sim_machine {
	struct sim_device facts;
	int number;				/* the machine's own, whatever CUDA_VISIBLE_DEVICES makes of it */
	uint64_t slots[SIM_SLOTS_MAX];		/* true time when each is free again */
	int slot_count;
	uint64_t engines[SIM_ENGINES];
	uint64_t tail;				/* end of the last piece */
	int in_flight;				/* kernels submitted and not retired: the launch queue */
	struct sim_arena *arena;
	size_t pool_spare;			/* bytes that pools hold and have not handed out */
	struct sim_context *primary;
	int primary_count;
	unsigned primary_flags;
	struct sim_pool *default_pool, *current_pool;
	bool is_lost;
};

struct sim_context {
	uint32_t magic, id;
	struct sim_machine *machine;
	unsigned flags;
	bool is_primary;
	int error;			/* sticky; every call on it returns this */
	uint64_t legacy_end;		/* of the last work in the legacy stream */
	uint64_t blocking_end;		/* of the last work in any blocking stream */
	uint64_t tail;			/* of any stream */
	struct sim_stream *legacy;
	struct sim_stream *streams;	/* list by next, the legacy one included */
	struct sim_context *next;
	uint32_t peers;			/* bit n: access to device n is enabled */
	uint64_t printed;		/* limits, by CUlimit */
	size_t limits[8];
	int module_count;
	unsigned sm_count;		/* of a green context: its multiprocessors; 0 = it is none */
};

/* Where a stream stands in its capture: the nodes that its next one depends on. */
struct sim_front {
	struct sim_node *nodes[64];
	int count;
};

struct sim_stream {
	uint32_t magic, id;
	struct sim_context *context;
	unsigned flags;			/* 1 = non-blocking */
	int priority, kind;		/* kind: 0 made, 1 legacy, 2 per thread */
	uint32_t thread;		/* owner of a per-thread stream */
	uint64_t tail;
	struct sim_capture *capture;
	struct sim_front front;
	struct sim_stream *next;
};

struct sim_event {
	uint32_t magic, id;
	unsigned flags;			/* 1 blocking sync, 2 no timing, 4 interprocess */
	bool is_recorded;
	struct sim_context *context;
	struct sim_stream *stream;
	uint64_t time;			/* true time of its place in the stream */
	uint64_t sync_id;
	struct sim_node *node;		/* place in a capture, NULL = none */
	struct sim_capture *capture;
	struct sim_shared_event *shared;	/* where processes that share it see it, or NULL */
	int file;				/* of that */
};
/* In a memory file. */
struct sim_shared_event {
	_Atomic uint64_t time;	/* 0 = never recorded */
};

struct sim_function {
	uint32_t magic;
	struct sim_module *module;
	struct sim_function *next;
	const char *name;
	uint32_t index;			/* in the module's symbol table */
	uint32_t registers, static_shared, local_bytes, constant_bytes, max_threads, parameter_count;
	uint32_t parameter_sizes[64], parameter_offsets[64];
	int max_dynamic_shared;
	bool is_loaded;
};

struct sim_variable {
	struct sim_variable *next;
	const char *name;
	void *address;
	size_t bytes;
};

struct sim_module {
	uint32_t magic, id;
	struct sim_context *context;	/* NULL: a library, bound to a context lazily */
	const void *image;
	size_t image_size;
	char *cubin;			/* own copy */
	size_t cubin_size;
	struct sim_function *functions;
	struct sim_variable *variables;
	bool is_loaded;			/* subscribers heard of it */
	bool is_sealed;			/* its code is compressed, and not read */
};

struct sim_pool {
	uint32_t magic;
	struct sim_machine *machine;
	size_t reserved, used, reserved_high, used_high, max_bytes;
	uint64_t threshold;
	bool is_default, is_imported;
	uint32_t peers;			/* bit n: device n may reach it, besides its own */
	int reuse[4];
};

/* One allocation. Blocks of an arena lie in address order; free ones too. */
struct sim_block {
	struct sim_block *previous, *next;
	uint64_t address;
	size_t bytes;			/* of address space */
	size_t asked;			/* 0 = free */
	uint8_t kind;			/* memory kind: 2 pinned, 3 device, 5 managed */
	uint8_t origin;			/* enum sim_origin */
	bool is_dying;			/* freed in stream order, not yet retired */
	int device;
	uint64_t id;
	struct sim_pool *pool;
	struct sim_context *context;
	bool is_on_device;		/* managed: where it lies now */
	bool is_of_graph;		/* of an allocation node: no record tells */
	unsigned flags;
};

enum sim_origin { SIM_FROM_ALLOC = 1, SIM_FROM_POOL, SIM_FROM_HOST, SIM_FROM_REGISTER, SIM_FROM_MANAGED, SIM_FROM_ARRAY,
		SIM_FROM_MODULE, SIM_FROM_MAP };

struct sim_array {
	uint32_t magic;
	struct sim_context *context;
	size_t width, height, depth;	/* elements; 0 as the program said */
	unsigned format, channels, flags, element_bytes;
	struct sim_block *block;
	size_t pitch;
};

/* ---- what an address is ---- */
struct sim_place {
	uint8_t kind;			/* memory kind, 1 = pageable */
	int device;			/* -1 = host */
	uint64_t base;
	size_t bytes;
	char *host;			/* where the bytes lie */
	struct sim_block *block;
};

/* ---- a piece of work on its way ---- */
struct sim_piece {
	struct sim_work work;
	void (*act)(struct sim_piece *piece);	/* at retirement; NULL = nothing to do */
	bool wants_own_thread;			/* a host function: only the core's thread runs it */
	bool is_in_graph;			/* its readiness is not_before alone; the graph extends the stream */
	struct sim_stream *stream;
	void *target, *source, *user;
	size_t pitch[2], slice[2], rows, planes, width;
	uint64_t value;
	struct sim_piece *next_free;
	char *staged;
};

/* ---- lock, init ---- core_state.c */
void sim_lock(void);
void sim_unlock(void);
int sim_init(void);			/* cuInit: devices, injection; once */
int sim_check(void);			/* SIM_OK or why no API call may go on */
struct sim_machine *sim_machine_at(int ordinal);
void *sim_allocate(size_t bytes);	/* zeroed; ends the process when memory ends */
/* As that, for what programs hold handles of: begins with its magic, is never given back. */
void *sim_object_new(size_t bytes);
/* Whether the handle, which may be anything, is of such an object, and that alive. */
bool sim_is_object(const void *handle, uint32_t magic);
/* mmap by the bare system call: simulated hardware is no memory of the program, and a recorder of maps shall not see it. */
void *sim_map_memory(void *at, size_t bytes, int protection, int flags, int file, long offset);
void sim_finish(void);
bool sim_is_finished(void);
extern __thread bool sim_in_host_function;

/* ---- clock ---- core_clock.c */
void sim_clock_start(void);
void sim_thread_forget(void);			/* in a fork child: thread ids are other ones */
bool sim_clock_is_virtual(void);
void sim_clock_pass(uint64_t ns);		/* virtual: the host worked that long */
void sim_clock_sleep_until(uint64_t true_ns);	/* paced: sleeps; virtual: advances */

/* ---- scenario ---- core_scenario.c */
/* sim_setting for places that every launch passes: looked up once a place. */
#define SIM_NUMBER(key, fallback) \
	({ \
		static _Atomic bool is_known_; \
		static uint64_t number_; \
\
		if (!is_known_) { \
			number_ = sim_setting(key, fallback); \
			is_known_ = true; \
		} \
		number_; \
	})
void sim_scenario_load(void);
/* Calls for each line `key value`; rest is the value's text. */
void sim_scenario_each(const char *key, void (*each)(const char *value, void *user), void *user);

/* ---- API calls ---- core_call.c */
void sim_call_enter(struct sim_call *call);
void sim_call_exit(struct sim_call *call);
/* The error that the scenario plants for this call of the function, else SIM_OK. */
int sim_call_planted(const struct sim_call *call);
const struct sim_subscriber *sim_subscriber(void);
struct sim_call *sim_call_current(void);
void sim_tell_memory(struct sim_memory *event);
void sim_tell_resource(const struct sim_resource *resource);
void sim_tell_wait(struct sim_wait *wait);
void sim_tell_overhead(uint32_t kind, uint64_t start, uint64_t end);
void sim_tell_error(int result, const char *message);

/* ---- engine ---- core_engine.c */
struct sim_piece *sim_piece_new(enum sim_work_kind kind);
void sim_piece_free(struct sim_piece *piece);
/* Settles the schedule and queues the piece, which it then owns. engine: below. Returns the end, true time. */
enum sim_engine { SIM_COMPUTE = -1, SIM_TO_DEVICE = 0, SIM_TO_HOST = 1, SIM_INSIDE = 2, SIM_NO_ENGINE = -2 };
uint64_t sim_submit(struct sim_stream *stream, struct sim_piece *piece, int engine, uint64_t duration);
uint64_t sim_submit_locked(struct sim_stream *stream, struct sim_piece *piece, int engine, uint64_t duration, uint64_t not_before);
void sim_after_submit(const struct sim_work *work);
void sim_wait_until(uint64_t true_ns);		/* until all work that ends by then is retired */
bool sim_is_retired(uint64_t true_ns);		/* all work that ends by then has been; retires what is due */
void sim_drop_work(struct sim_machine *machine, struct sim_context *context);	/* forgets what has not started */
uint64_t sim_stream_ready_locked(struct sim_stream *stream);
void sim_stream_extend_locked(struct sim_stream *stream, uint64_t end);
void sim_engine_stop(void);

/* ---- contexts ---- core_context.c */
int sim_context_new(struct sim_machine *machine, unsigned flags, bool is_primary, struct sim_context **context);
int sim_context_destroy(struct sim_context *context);
bool sim_context_is_live(const struct sim_context *context);
int sim_context_set_current(struct sim_context *context);
int sim_context_push(struct sim_context *context);
int sim_context_pop(struct sim_context **context);
int sim_context_wait(struct sim_context *context);
int sim_primary_retain(struct sim_machine *machine, struct sim_context **context);
int sim_primary_release(struct sim_machine *machine, bool is_reset);
int sim_here(struct sim_context **context);	/* current and usable context, or the error */
void sim_context_break(struct sim_context *context, int error);

/* ---- streams and events ---- core_stream.c, core_event.c */
int sim_stream_new(struct sim_context *context, unsigned flags, int priority, struct sim_stream **stream);
int sim_stream_destroy(struct sim_stream *stream);
/* The stream a program means by a handle; 0 by the kind of the call in progress. Error 400 when it is none. */
int sim_stream_find(void *handle, struct sim_stream **stream);
int sim_stream_wait(struct sim_stream *stream);
int sim_stream_query(struct sim_stream *stream);
int sim_stream_host_function(struct sim_stream *stream, void (*function)(void *), void *data);
bool sim_stream_is_live(const struct sim_stream *stream);
int sim_event_new(unsigned flags, struct sim_event **event);
int sim_event_destroy(struct sim_event *event);
int sim_event_record(struct sim_event *event, struct sim_stream *stream);
int sim_event_wait(struct sim_stream *stream, struct sim_event *event);	/* the stream waits */
int sim_event_synchronize(struct sim_event *event);
int sim_event_query(struct sim_event *event);
int sim_event_elapsed(float *ms, struct sim_event *from, struct sim_event *to);
bool sim_event_is_live(const struct sim_event *event);

/* ---- kernels ---- core_kernel.c */
struct sim_launch {
	struct sim_function *function;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared;
	bool is_cooperative;
};
int sim_launch_check(const struct sim_context *context, const struct sim_launch *launch);
int sim_launch(struct sim_stream *stream, const struct sim_launch *launch);
uint64_t sim_kernel_duration(const struct sim_device *device, const struct sim_launch *launch);
void sim_kernel_fill(struct sim_work *work, const struct sim_context *context, const struct sim_launch *launch);

/* ---- memory ---- core_arena.c, core_memory.c, core_pool.c, core_copy.c */
struct sim_arena *sim_arena_new(size_t bytes, bool is_host_visible);
struct sim_block *sim_arena_take(struct sim_arena *arena, size_t bytes, size_t alignment);
void sim_arena_give(struct sim_arena *arena, struct sim_block *block);
struct sim_block *sim_arena_find(struct sim_arena *arena, uint64_t address);
size_t sim_arena_used(const struct sim_arena *arena);	/* bytes of 2 MiB segments in use */
char *sim_arena_host(struct sim_arena *arena, uint64_t address);
uint64_t sim_arena_base(const struct sim_arena *arena);
void sim_arena_each(struct sim_arena *arena, void (*each)(struct sim_block *block, void *user), void *user);

int sim_memory_alloc(struct sim_context *context, size_t bytes, uint64_t *address);
int sim_memory_alloc_managed(struct sim_context *context, size_t bytes, unsigned flags, uint64_t *address);
int sim_memory_alloc_host(struct sim_context *context, size_t bytes, unsigned flags, void **address);
int sim_memory_free(struct sim_context *context, uint64_t address);
int sim_memory_free_host(struct sim_context *context, void *address);
int sim_memory_register(struct sim_context *context, void *address, size_t bytes, unsigned flags);
int sim_memory_unregister(struct sim_context *context, void *address);
int sim_memory_info(struct sim_context *context, size_t *free_bytes, size_t *total);
struct sim_block *sim_memory_static(struct sim_context *context, const char *name, size_t bytes);
void sim_memory_drop_context(struct sim_context *context);
/* Managed memory moves to a device, or to the host (-1); tells the subscriber of the bytes. */
int sim_memory_prefetch(struct sim_stream *stream, uint64_t address, size_t bytes, int device);
void sim_place_of(uint64_t address, struct sim_place *place);
size_t sim_machine_free(const struct sim_machine *machine);
bool sim_machine_is_over(const struct sim_machine *machine);

int sim_pool_new(struct sim_machine *machine, size_t max_bytes, struct sim_pool **pool);
int sim_pool_destroy(struct sim_pool *pool);
int sim_pool_trim(struct sim_pool *pool, size_t keep);
/* stream NULL: for a node of a graph. */
int sim_pool_alloc(struct sim_pool *pool, struct sim_stream *stream, size_t bytes, uint64_t *address);
int sim_pool_free(struct sim_stream *stream, uint64_t address);
struct sim_pool *sim_pool_default(struct sim_machine *machine);
bool sim_pool_is_live(const struct sim_pool *pool);
void sim_pool_settle(struct sim_machine *machine);	/* at a synchronisation: gives back beyond the threshold */
void sim_pool_drop(struct sim_machine *machine);	/* takes back all blocks handed out: the device was reset */

/* One side of a copy: memory (address) or array. */
struct sim_side {
	uint64_t address;
	struct sim_array *array;
	size_t pitch, height;		/* bytes a row, rows a plane */
	size_t x, y, z;			/* offset: bytes, rows, planes */
};
struct sim_copy {
	struct sim_side to, from;
	size_t width, height, depth;	/* bytes, rows, planes */
	bool is_async;
	bool is_peer;
	struct sim_context *to_context, *from_context;	/* peer copies, else NULL */
};
int sim_copy(struct sim_stream *stream, const struct sim_copy *copy);
struct sim_set {
	uint64_t address;
	size_t pitch, width, height;	/* width in elements */
	unsigned element, value;
	bool is_async;
};
int sim_set(struct sim_stream *stream, const struct sim_set *set);
int sim_array_new(struct sim_context *context, const struct sim_array *shape, struct sim_array **array);
int sim_array_free(struct sim_array *array);
/* Pieces for graphs: made, not submitted; engine and duration returned through the pointers. */
int sim_copy_piece(const struct sim_context *context, const struct sim_copy *copy, struct sim_piece **piece, int *engine,
		uint64_t *duration);
int sim_set_piece(const struct sim_context *context, const struct sim_set *set, struct sim_piece **piece, uint64_t *duration);

/* Memory that processes share, core_share.c */
struct sim_ipc {
	char bytes[64];
};
int sim_ipc_name(uint64_t address, struct sim_ipc *handle);
int sim_ipc_open(struct sim_context *context, const struct sim_ipc *handle, uint64_t *address);
int sim_ipc_close(uint64_t address);
int sim_ipc_name_event(struct sim_event *event, struct sim_ipc *handle);
int sim_ipc_open_event(const struct sim_ipc *handle, struct sim_event **event);
int sim_share_physical(uint64_t handle, int *file);
int sim_share_import(int file, uint64_t *handle);
/* Makes the block's segments a part of the arena's memory file. Returns that, -1 = it cannot be done. Lock held. */
int sim_arena_share(struct sim_arena *arena, const struct sim_block *block);
size_t sim_arena_offset(const struct sim_arena *arena, uint64_t address);

/* Virtual memory maps, core_map.c */
int sim_map_reserve(size_t bytes, size_t alignment, uint64_t *address);
int sim_map_release(uint64_t address, size_t bytes);
struct sim_location {
	int type, id;	/* CUmemLocation: type 1 device, 2 host, 3 and 4 of a node */
};
#define SIM_SHARED_NAME "simgpu-"	/* name of a memory file; then its location's type and the device's number */
int sim_map_create(struct sim_location location, size_t bytes, uint64_t *handle);
int sim_map_drop(uint64_t handle);
int sim_map_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle);
bool sim_map_location(uint64_t handle, struct sim_location *location);	/* of physical memory; false = it is none */
int sim_map_file(uint64_t handle);		/* its memory file; -1 = it is none */
int sim_map_retain(uint64_t address, uint64_t *handle);	/* the handle of what is mapped there, once more */
/* Memory that was made elsewhere: takes the file. */
int sim_map_import(struct sim_location location, int file, size_t bytes, uint64_t *handle);
/* Blocks of others (IPC). opened: once more, if it is open already; base: from its first segment on. close: address 0 = others use it. */
bool sim_map_opened(uint64_t base, size_t size, int file, uint64_t *known);
void sim_map_name(uint64_t address, uint64_t base, size_t size);
bool sim_map_close(uint64_t base, uint64_t *address, size_t *bytes);
int sim_map_unmap(uint64_t address, size_t bytes);
bool sim_map_place(uint64_t address, struct sim_place *place);
size_t sim_map_bytes(int device);	/* physical memory of live handles */

/* ---- modules ---- core_module.c, core_elf.c */
int sim_module_load(struct sim_context *context, const void *image, size_t size, struct sim_module **module);
int sim_module_unload(struct sim_module *module);
struct sim_function *sim_module_function(struct sim_module *module, const char *name);
struct sim_variable *sim_module_variable(struct sim_module *module, const char *name);
bool sim_module_is_live(const struct sim_module *module);
bool sim_function_is_live(const struct sim_function *function);
void sim_module_loaded(struct sim_module *module, struct sim_context *context);
/* Reads names and resources of a cubin; core_elf.c */
int sim_elf_read(struct sim_module *module);

/* ---- graphs ---- core_graph.c, core_capture.c, core_exec.c */
struct sim_node {
	uint32_t magic, type;		/* type: CUgraphNodeType */
	uint64_t id;
	struct sim_graph *graph;
	struct sim_node *next, *original;
	struct sim_node **dependencies;
	int dependency_count;
	bool is_disabled;
	struct sim_launch launch;
	struct sim_copy copy;
	struct sim_set set;
	struct sim_context *context;
	struct sim_event *event;
	void (*host)(void *);
	void *host_data;
	struct sim_graph *child;
	struct sim_condition *condition; /* of a conditional node; child is NULL then */
	unsigned condition_type;	/* 0 if, 1 while, 2 switch */
	struct sim_graph **bodies;
	unsigned body_count;
	uint64_t address;		/* alloc, free */
	size_t bytes;
	uint64_t end;			/* true time, of the replay in progress */
	int priority;
	void *parameters;		/* launch parameter block, for get */
};
struct sim_graph {
	uint32_t magic, id;
	struct sim_node *nodes, **tail;
	int node_count;
	struct sim_user_hold *users;	/* user objects that live as long as the graph; under the lock */
	struct sim_graph *original;
	bool is_child;
};
/* A value that decides which body of a node runs. Kernels are not computed: what one would set it to the scenario says. */
struct sim_condition {
	uint32_t magic;
	unsigned value;			/* at each launch, where has_value */
	bool has_value;
};
struct sim_graph_exec {
	uint32_t magic, id;
	struct sim_graph *graph;	/* own clone, in topological order */
	struct sim_graph *source;
	uint32_t source_id;
	unsigned flags;
	uint64_t end;			/* true time, of the last launch */
};
struct sim_capture {
	uint32_t magic;
	uint64_t id;
	struct sim_graph *graph;
	struct sim_stream *origin;
	bool is_invalid;
	uint32_t thread;
	int mode;			/* 0 global, 1 thread local, 2 relaxed */
};
int sim_graph_new(struct sim_graph **graph);
int sim_graph_destroy(struct sim_graph *graph);
int sim_graph_clone(struct sim_graph *from, struct sim_graph **to, struct sim_graph_exec *exec);
int sim_graph_add(struct sim_graph *graph, uint32_t type, struct sim_node *const *dependencies, size_t count,
		struct sim_node **node);
int sim_graph_depend(struct sim_node *node, struct sim_node *on);
int sim_node_destroy(struct sim_node *node);
bool sim_graph_is_live(const struct sim_graph *graph);
bool sim_node_is_live(const struct sim_node *node);
bool sim_exec_is_live(const struct sim_graph_exec *exec);
int sim_exec_new(struct sim_graph *graph, unsigned flags, struct sim_graph_exec **exec);
int sim_exec_destroy(struct sim_graph_exec *exec);
int sim_exec_update(struct sim_graph_exec *exec, struct sim_graph *graph, int *why, struct sim_node **node);
int sim_exec_launch(struct sim_graph_exec *exec, struct sim_stream *stream);
void sim_exec_number_locked(struct sim_graph_exec *exec);
uint64_t sim_node_new_id(void);
struct sim_node *sim_exec_node(struct sim_graph_exec *exec, struct sim_node *original);
/* User objects, core_user.c: what programs want to be told when no graph needs it any more. */
int sim_user_new(void *data, void (*destroy)(void *), unsigned count, struct sim_user **user);
int sim_user_retain(struct sim_user *user, unsigned count);
int sim_user_release(struct sim_user *user, unsigned count);
int sim_user_hold(struct sim_graph *graph, struct sim_user *user, unsigned count, bool is_moved);
int sim_user_let_go(struct sim_graph *graph, struct sim_user *user, unsigned count);
void sim_user_clone(struct sim_graph *to, const struct sim_graph *from);
void sim_user_graph_ends(struct sim_graph *graph);
int sim_capture_begin(struct sim_stream *stream, int mode, struct sim_graph *into, struct sim_node *const *dependencies,
		size_t count);
int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph);
int sim_capture_add(struct sim_stream *stream, uint32_t type, struct sim_node **node);
int sim_capture_record(struct sim_stream *stream, struct sim_event *event);
int sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
int sim_capture_status(struct sim_stream *stream);	/* 0 none, 1 active, 2 invalidated */
/* Forgets an event's place in a capture that has ended. */
void sim_capture_leave(struct sim_stream *stream);
/* Error that a call which may not happen during a capture gets: SIM_OK, 900, ... */
int sim_capture_forbids(struct sim_stream *stream);
int sim_capture_forbids_in(struct sim_context *context); /* before all of it is waited for: 900 where one of its streams is captured */
int sim_capture_implicit(struct sim_stream *stream);	/* before work is given to it: 906 where that ends another's capture */

#endif

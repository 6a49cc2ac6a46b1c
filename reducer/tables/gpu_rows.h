/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables about GPUs share: filters, names, notes.
 *
 * Rule: asks a struct gpu, knows no table.
 */
#ifndef REDUCER_TABLES_GPU_ROWS_H
#define REDUCER_TABLES_GPU_ROWS_H

#include "reducer/model/gpu.h"
#include "reducer/tables/request.h"

/* Filters that every table of this kind knows. */
#define GPU_FILTERS (FILTER_WINDOW | FILTER_PROCESS | FILTER_THREAD | FILTER_DEVICE | FILTER_STREAM)

/* Do --device, --stream, --thread want this? `queue` is a place, GPU_NONE = of no queue; `thread` a serial, 0 = unknown. */
bool gpu_wants_queue(const struct request *request, const struct gpu *gpu, uint32_t queue);
bool gpu_wants_device_number(const struct request *request, const struct gpu *gpu, uint32_t device);
bool gpu_wants_thread(const struct request *request, const struct process *process, uint32_t thread);

/* Fills cells; leaves them empty where nothing is known. */
void gpu_put_device(struct table *table, size_t column, uint32_t device);
void gpu_put_thread(struct table *table, size_t column, const struct process *process, uint32_t thread);
void gpu_put_op(struct table *table, size_t column, const struct process *process, uint32_t op);
void gpu_put_function(struct table *table, size_t column, const struct gpu *gpu, uint32_t function);
void gpu_put_kernel(struct table *table, size_t column, const struct gpu *gpu, uint32_t name);

/* What linkers call it, as people write it; "" leaves the cell empty. */
void gpu_put_linker_name(struct table *table, size_t column, const char *name);

/* The kernel's name as people write it, appended. "" for GPU_NONE. */
void gpu_kernel_text(struct text *out, const struct gpu *gpu, uint32_t name);

/*
 * Does a kernel use tensor cores? Read from its code where the log holds that (then *is_from_code, if not NULL, is true), else
 * guessed from its name. `name`: place in gpu->names; device NULL = unknown.
 */
bool gpu_uses_tensor_cores(const struct gpu *gpu, uint32_t name, const struct gpu_device *device, bool *is_from_code);

/* Work of AMD's devices, by the names of the calls that another profiler's file has: kernels' names tell of no tensor cores there. */
bool gpu_is_of_hip(const struct gpu *gpu);

/* "HtoD" and the like; "set" for 0. */
const char *gpu_copy_name(uint32_t kind);
const char *gpu_memory_name(uint32_t kind);

/* count, sum, avg, min, max, p50, p99 into seven columns from `first` on; those without values stay empty. */
void gpu_put_spread(struct table *table, size_t first, const struct spread *spread);
enum { SPREAD_TOTAL, SPREAD_AVERAGE, SPREAD_LEAST, SPREAD_MOST, SPREAD_MEDIAN, SPREAD_P99, SPREAD_COLUMNS };
/* The deviation of a sample; empty with fewer than two values. */
void gpu_put_deviation(struct table *table, size_t column, const struct spread *spread);

/* Which wanted processes recorded no device times and why, pairing, impossible times, doubles, clock error. */
void gpu_notes(struct table *table, const struct request *request);

/* Says how many of what (plural) name no device, so that --device and --stream leave them out; nothing of 0. */
void gpu_note_placeless(struct table *table, size_t count, const char *what);

/* Says how many launches of graphs were recorded as a whole, so that what ran inside is not in the table; nothing of none. */
void gpu_note_whole_graphs(struct table *table, const struct request *request);

/* Says which kernels that ran can have started others, of which CUPTI has no records; nothing where none can: told by their modules. */
void gpu_note_nested(struct table *table, const struct request *request);

/* Says that processes call different devices by one number, if they do: tables by that number hold them together. */
void gpu_note_numbers(struct table *table, const struct request *request);

/* Devices that ran kernels for the wanted processes: by UUID each once; of those without one each process has its own. */
size_t gpu_devices_used(const struct request *request);

/* True where any wanted process has something about GPUs; else a note says that there is nothing. */
bool gpu_any(struct table *table, const struct request *request);

/* Says how percentiles beyond the exact ones came about, if any of the rows had such. */
void gpu_note_percentiles(struct table *table, bool any_classed);

#endif

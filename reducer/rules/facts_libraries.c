/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from the arguments of library calls: sizes and types of products, bytes of reductions.
 *
 * Rule: arguments are found by the names that the log gives them; a call without the names that are needed tells nothing.
 */
#include "reducer/rules/facts_own.h"

#include "reducer/model/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_REDUCTION (1 << 20) /* bytes */

/* Value of an argument of that name; false = the function has none. */
static bool argument(const struct gpu_function *function, const struct gpu_library_call *call, const char *name, int64_t *value)
{
	const char *at = function->arguments;
	size_t wanted = strlen(name);

	for (size_t i = 0; i < GPU_LIBRARY_ARGUMENTS && *at; i++) {
		size_t blanks = strspn(at, " "), length = strcspn(at, ",");
		if (length - blanks == wanted && memcmp(at + blanks, name, wanted) == 0) {
			*value = (int64_t)call->arguments[i];
			return true;
		}
		at += length + (at[length] == ',');
	}
	return false;
}

/* ncclDataType_t: bytes of an element, whether it is wider than 16 bit; 0 = unknown type. */
static unsigned nccl_bytes(int64_t type, bool *is_wide)
{
	static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	if (type < 0 || type >= (int64_t)sizeof(bytes))
		return 0;
	*is_wide = type == 7; /* float32 */
	return bytes[type];
}

/* cudaDataType_t: bits of an element of a product; 0 = neither 16 nor 8 bit. */
static unsigned narrow_bits(int64_t type)
{
	switch (type) {
	case 2:	 /* CUDA_R_16F */
	case 14: /* CUDA_R_16BF */
		return 16;
	case 3:	 /* CUDA_R_8I */
	case 28: /* CUDA_R_8F_E4M3 */
	case 29: /* CUDA_R_8F_E5M2 */
		return 8;
	default:
		return 0;
	}
}

struct sums {
	double calls, bytes, wide_bytes, best, large_bytes, large_ns;
	double odd_ns, odd_most;
	char odd[PROOF_ROWS];
	bool any_product;
};

static void take_reduction(struct sums *sums, const struct gpu_function *function, const struct gpu_library_call *call)
{
	int64_t count, type;
	bool is_wide = false;
	unsigned bytes;
	double each, made = (double)(call->calls - call->failed);

	if (!argument(function, call, "count", &count) || !argument(function, call, "type", &type) || count < 0)
		return;
	bytes = nccl_bytes(type, &is_wide);
	each = (double)count * bytes;
	sums->calls += made;
	sums->bytes += each * made;
	sums->wide_bytes += is_wide ? each * made : 0;
	if (each < LARGE_REDUCTION || !call->device_ns)
		return;
	sums->large_bytes += each * made;
	sums->large_ns += (double)call->device_ns;
	if (each * made * 1e9 / (double)call->device_ns > sums->best)
		sums->best = each * made * 1e9 / (double)call->device_ns;
}

static void take_product(struct sums *sums, const struct gpu_function *function, const struct gpu_library_call *call)
{
	int64_t m, n, k, type = -1;
	unsigned bits, step;

	if (!argument(function, call, "m", &m) || !argument(function, call, "n", &n) || !argument(function, call, "k", &k))
		return;
	sums->any_product = true;
	if (!argument(function, call, "atype", &type) && strncmp(function->name, "cublasHgemm", 11) == 0)
		type = 2;
	bits = narrow_bits(type);
	step = bits == 8 ? 16 : 8;
	if (!bits || (m % step == 0 && n % step == 0 && k % step == 0))
		return;
	sums->odd_ns += (double)call->device_ns;
	if ((double)call->device_ns < sums->odd_most)
		return;
	sums->odd_most = (double)call->device_ns;
	snprintf(sums->odd, sizeof(sums->odd), "m=%lld, n=%lld, k=%lld", (long long)m, (long long)n, (long long)k);
}

static void take_call(struct sums *sums, const struct gpu *gpu, const struct gpu_library_call *call)
{
	static const char *const reductions[] = {"ncclAllReduce",	"ncclReduceScatter",	   "ncclReduce",
						  "ncclAllReduceConfig", "ncclReduceScatterConfig", "ncclReduceConfig"};
	const struct gpu_function *function;

	if (call->function >= gpu->function_count)
		return;
	function = &gpu->functions[call->function];
	for (size_t i = 0; i < sizeof(reductions) / sizeof(reductions[0]); i++)
		if (strcmp(function->name, reductions[i]) == 0)
			take_reduction(sums, function, call);
	if (strncmp(function->library, "cublas", 6) == 0)
		take_product(sums, function, call);
}

void facts_gather_libraries(struct rule_facts *facts, const struct request *request)
{
	struct sums sums = {0};

	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct gpu *gpu = facts_gpu(request, i);
		for (size_t k = 0; gpu && k < gpu->library_call_count; k++)
			take_call(&sums, gpu, &gpu->library_calls[k]);
	}
	if (sums.calls > 0) {
		facts_own(facts, FACT_reductions, sums.calls, "library_calls", "calls", "library=nccl");
		facts_own(facts, FACT_reduced_bytes, sums.bytes, "library_calls", "arguments", "library=nccl");
		facts_own(facts, FACT_reduced_wide_bytes, sums.wide_bytes, "library_calls", "arguments", "library=nccl");
	}
	if (sums.large_ns > 0) {
		facts_own(facts, FACT_reduce_mean_rate, sums.large_bytes * 1e9 / sums.large_ns, "library_calls", "device_ns",
			  "library=nccl");
		facts_own(facts, FACT_reduce_best_rate, sums.best, "library_calls", "device_ns", "library=nccl");
	}
	if (sums.any_product) {
		facts_own(facts, FACT_odd_shape_ns, sums.odd_ns, "library_calls", "device_ns", "library=cublas");
		snprintf(facts->facts[FACT_odd_shape_ns].label, FACT_LABEL, "%s", sums.odd);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libcublasLt.so.13 libcublasLt.so.12 */
/*
 * A fake cuBLASLt: descriptors whose attributes can be set and read, and the product.
 * Rule: see library.h. A descriptor is an array of attributes; numbers as in the vendor's documents.
 */
#include <stdlib.h>
#include <string.h>

#include "library.h"

enum { ATTRIBUTES = 32 };

/* cublasLtMatrixLayoutAttribute_t */
enum { TYPE = 0, ORDER = 1, ROWS = 2, COLUMNS = 3, LEADING = 4, BATCHES = 5, STRIDE = 6 };
/* cublasLtMatmulDescAttributes_t */
enum { COMPUTE_TYPE = 0, SCALE_TYPE = 1, TRANSPOSES_A = 3, TRANSPOSES_B = 4, EPILOGUE = 7 };

struct descriptor {
	uint64_t values[ATTRIBUTES];
	size_t bytes[ATTRIBUTES];
};

static void put(struct descriptor *descriptor, int attribute, uint64_t value, size_t bytes)
{
	descriptor->values[attribute] = value;
	descriptor->bytes[attribute] = bytes;
}

static int set(struct descriptor *descriptor, int attribute, const void *value, size_t bytes)
{
	if (!descriptor || !value || attribute < 0 || attribute >= ATTRIBUTES || bytes > 8)
		return 7;
	descriptor->values[attribute] = 0;
	memcpy(&descriptor->values[attribute], value, bytes);
	descriptor->bytes[attribute] = bytes;
	return 0;
}

static int get(const struct descriptor *descriptor, int attribute, void *value, size_t bytes, size_t *written)
{
	if (!descriptor || attribute < 0 || attribute >= ATTRIBUTES || !descriptor->bytes[attribute])
		return 7;
	if (written)
		*written = descriptor->bytes[attribute];
	if (bytes < descriptor->bytes[attribute])
		return bytes ? 7 : 0;
	memcpy(value, &descriptor->values[attribute], descriptor->bytes[attribute]);
	return 0;
}

static int release(struct descriptor *descriptor)
{
	free(descriptor);
	return 0;
}

SIM_LIBRARY_API int cublasLtCreate(void **handle)
{
	if (!sim_device_count())
		return 1;
	*handle = calloc(1, 64);
	return 0;
}

SIM_LIBRARY_API int cublasLtDestroy(void *handle)
{
	free(handle);
	return 0;
}

SIM_LIBRARY_API int cublasLtMatrixLayoutCreate(struct descriptor **layout, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
	*layout = calloc(1, sizeof(**layout));
	put(*layout, TYPE, (uint32_t)type, 4);
	put(*layout, ORDER, 0, 4);
	put(*layout, ROWS, rows, 8);
	put(*layout, COLUMNS, columns, 8);
	put(*layout, LEADING, (uint64_t)leading, 8);
	put(*layout, BATCHES, 1, 4);
	put(*layout, STRIDE, 0, 8);
	return 0;
}

SIM_LIBRARY_API int cublasLtMatrixLayoutSetAttribute(struct descriptor *layout, int attribute, const void *value, size_t bytes)
{
	return set(layout, attribute, value, bytes);
}

SIM_LIBRARY_API int cublasLtMatrixLayoutGetAttribute(struct descriptor *layout, int attribute, void *value, size_t bytes,
	size_t *written)
{
	return get(layout, attribute, value, bytes, written);
}

SIM_LIBRARY_API int cublasLtMatrixLayoutDestroy(struct descriptor *layout)
{
	return release(layout);
}

SIM_LIBRARY_API int cublasLtMatmulDescCreate(struct descriptor **product, int compute, int scale)
{
	*product = calloc(1, sizeof(**product));
	put(*product, COMPUTE_TYPE, (uint32_t)compute, 4);
	put(*product, SCALE_TYPE, (uint32_t)scale, 4);
	put(*product, TRANSPOSES_A, 0, 4);
	put(*product, TRANSPOSES_B, 0, 4);
	put(*product, EPILOGUE, 1, 4);
	return 0;
}

SIM_LIBRARY_API int cublasLtMatmulDescSetAttribute(struct descriptor *product, int attribute, const void *value, size_t bytes)
{
	return set(product, attribute, value, bytes);
}

SIM_LIBRARY_API int cublasLtMatmulDescGetAttribute(struct descriptor *product, int attribute, void *value, size_t bytes,
	size_t *written)
{
	return get(product, attribute, value, bytes, written);
}

SIM_LIBRARY_API int cublasLtMatmulDescDestroy(struct descriptor *product)
{
	return release(product);
}

SIM_LIBRARY_API size_t cublasLtGetVersion(void)
{
	return 130000;
}

SIM_LIBRARY_API int cublasLtMatmulPreferenceCreate(struct descriptor **preference)
{
	*preference = calloc(1, sizeof(**preference));
	return 0;
}

SIM_LIBRARY_API int cublasLtMatmulPreferenceSetAttribute(struct descriptor *preference, int attribute, const void *value, size_t bytes)
{
	return set(preference, attribute, value, bytes);
}

SIM_LIBRARY_API int cublasLtMatmulPreferenceDestroy(struct descriptor *preference)
{
	return release(preference);
}

/* cublasLtMatmulHeuristicResult_t */
struct heuristic {
	uint64_t algorithm[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

/* One way of doing it is known, without a workspace. */
SIM_LIBRARY_API int cublasLtMatmulAlgoGetHeuristic(void *handle, struct descriptor *product, struct descriptor *a, struct descriptor *b,
	struct descriptor *c, struct descriptor *d, struct descriptor *preference, int wanted, struct heuristic *found, int *count)
{
	if (!handle)
		return 1;
	if (!product || !a || !b || !c || !d || !preference || !found || !count || wanted < 1)
		return 7;
	*found = (struct heuristic){.algorithm = {1}, .waves = 1};
	*count = 1;
	return 0;
}

static const char *kernel_of(uint64_t type)
{
	switch (type) {
	case 2:
		return "nvjet_hsh_128x256_64x4_2x1_v_bz_TNT";
	case 14:
		return "nvjet_tst_128x256_64x4_2x1_v_bz_TNT";
	default:
		return "cutlass_80_simt_sgemm_128x128_8x4_nn_align1";
	}
}

SIM_LIBRARY_API int cublasLtMatmul(void *handle, struct descriptor *product, const void *alpha, const void *a,
	struct descriptor *a_layout,
	const void *b, struct descriptor *b_layout, const void *beta, const void *c, struct descriptor *c_layout, void *d,
	struct descriptor *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes, void *stream)
{
	uint64_t inner;

	(void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)c_layout, (void)d, (void)algorithm;
	(void)workspace, (void)workspace_bytes;
	if (!handle)
		return 1;
	if (!product || !a_layout || !b_layout || !d_layout)
		return 7;
	inner = a_layout->values[product->values[TRANSPOSES_A] ? ROWS : COLUMNS];
	if (inner != b_layout->values[product->values[TRANSPOSES_B] ? COLUMNS : ROWS])
		return 7;
	return sim_library_launch(kernel_of(a_layout->values[TYPE]), sim_tiles(d_layout->values[ROWS], 128),
		sim_tiles(d_layout->values[COLUMNS], 256), (uint32_t)d_layout->values[BATCHES], 384, 196608, stream) ? 13 : 0;
}

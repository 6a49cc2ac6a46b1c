/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libcudnn.so.9 */
/*
 * A fake cuDNN: descriptors of tensors, filters and convolutions, and the operations of a small convolutional net.
 * Rule: see library.h. Statuses as cuDNN 9: 0 success, 1001 not initialized, 2000 bad parameter, 5000 execution failed.
 */
#include <stdlib.h>
#include <string.h>

#include "library.h"

enum { MAJOR = 9, MINOR = 20, SIDES = 8, BAD = 2000, FAILED = 5000 };

struct handle {
	void *stream;
};

struct tensor { /* and filter */
	int type, format, count;
	int sides[SIDES], strides[SIDES];
};

struct convolution {
	int count, pad[SIDES], stride[SIDES], dilation[SIDES], mode, type;
};

SIM_LIBRARY_API int cudnnCreate(struct handle **handle)
{
	if (!sim_device_count())
		return 1001;
	*handle = calloc(1, sizeof(**handle));
	return 0;
}

SIM_LIBRARY_API int cudnnDestroy(struct handle *handle)
{
	free(handle);
	return 0;
}

SIM_LIBRARY_API int cudnnSetStream(struct handle *handle, void *stream)
{
	if (!handle)
		return BAD;
	handle->stream = stream;
	return 0;
}

SIM_LIBRARY_API size_t cudnnGetVersion(void)
{
	return MAJOR * 10000 + MINOR * 100;
}

/* What: 0 major, 1 minor, 2 patch level. */
SIM_LIBRARY_API int cudnnGetProperty(int what, int *value)
{
	if (what < 0 || what > 2 || !value)
		return BAD;
	*value = what == 0 ? MAJOR : what == 1 ? MINOR : 0;
	return 0;
}

SIM_LIBRARY_API int cudnnCreateTensorDescriptor(struct tensor **tensor)
{
	*tensor = calloc(1, sizeof(**tensor));
	return 0;
}

SIM_LIBRARY_API int cudnnDestroyTensorDescriptor(struct tensor *tensor)
{
	free(tensor);
	return 0;
}

SIM_LIBRARY_API int cudnnSetTensor4dDescriptor(struct tensor *tensor, int format, int type, int n, int c, int h, int w)
{
	if (!tensor || n < 1 || c < 1 || h < 1 || w < 1)
		return BAD;
	*tensor = (struct tensor){.type = type, .format = format, .count = 4, .sides = {n, c, h, w}, .strides = {c * h * w, h * w, w, 1}};
	return 0;
}

SIM_LIBRARY_API int cudnnSetTensorNdDescriptor(struct tensor *tensor, int type, int count, const int *sides, const int *strides)
{
	if (!tensor || count < 1 || count > SIDES)
		return BAD;
	*tensor = (struct tensor){.type = type, .count = count};
	memcpy(tensor->sides, sides, (size_t)count * sizeof(int));
	memcpy(tensor->strides, strides, (size_t)count * sizeof(int));
	return 0;
}

SIM_LIBRARY_API int cudnnGetTensorNdDescriptor(struct tensor *tensor, int wanted, int *type, int *count, int *sides, int *strides)
{
	int most = tensor && wanted < tensor->count ? wanted : tensor ? tensor->count : 0;

	if (!tensor)
		return BAD;
	*type = tensor->type;
	*count = tensor->count;
	memcpy(sides, tensor->sides, (size_t)most * sizeof(int));
	memcpy(strides, tensor->strides, (size_t)most * sizeof(int));
	return 0;
}

SIM_LIBRARY_API int cudnnCreateFilterDescriptor(struct tensor **filter)
{
	return cudnnCreateTensorDescriptor(filter);
}

SIM_LIBRARY_API int cudnnDestroyFilterDescriptor(struct tensor *filter)
{
	return cudnnDestroyTensorDescriptor(filter);
}

SIM_LIBRARY_API int cudnnSetFilter4dDescriptor(struct tensor *filter, int type, int format, int k, int c, int h, int w)
{
	return cudnnSetTensor4dDescriptor(filter, format, type, k, c, h, w);
}

SIM_LIBRARY_API int cudnnGetFilterNdDescriptor(struct tensor *filter, int wanted, int *type, int *format, int *count, int *sides)
{
	int strides[SIDES];

	if (filter)
		*format = filter->format;
	return cudnnGetTensorNdDescriptor(filter, wanted < SIDES ? wanted : SIDES, type, count, sides, strides);
}

SIM_LIBRARY_API int cudnnCreateConvolutionDescriptor(struct convolution **convolution)
{
	*convolution = calloc(1, sizeof(**convolution));
	return 0;
}

SIM_LIBRARY_API int cudnnDestroyConvolutionDescriptor(struct convolution *convolution)
{
	free(convolution);
	return 0;
}

SIM_LIBRARY_API int cudnnSetConvolution2dDescriptor(struct convolution *convolution, int pad_h, int pad_w, int u, int v, int dilation_h,
	int dilation_w, int mode, int type)
{
	if (!convolution || u < 1 || v < 1)
		return BAD;
	*convolution = (struct convolution){2, {pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}, mode, type};
	return 0;
}

static uint64_t elements(const struct tensor *tensor)
{
	uint64_t all = 1;

	for (int i = 0; i < tensor->count; i++)
		all *= (uint64_t)tensor->sides[i];
	return all;
}

static int convolve(const struct handle *handle, const struct tensor *input, const struct tensor *filter, const struct tensor *output,
	const char *half, const char *whole)
{
	uint64_t rows;

	if (!handle || !input || !filter || !output || input->sides[1] != filter->sides[1])
		return BAD;
	rows = elements(output) / (uint64_t)output->sides[1];
	return sim_library_launch(input->type == 2 ? half : whole, sim_tiles(rows, 128), sim_tiles((uint64_t)filter->sides[0], 64), 1, 256,
		65536, handle->stream) ? FAILED : 0;
}

SIM_LIBRARY_API int cudnnConvolutionForward(struct handle *handle, const void *alpha, struct tensor *x, const void *x_data,
	struct tensor *w, const void *w_data, struct convolution *convolution, int algo, void *space, size_t space_bytes,
	const void *beta, struct tensor *y, void *y_data)
{
	(void)alpha, (void)x_data, (void)w_data, (void)convolution, (void)algo, (void)space, (void)space_bytes, (void)beta, (void)y_data;
	return convolve(handle, x, w, y,
		"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nchw_tilesize128x64x64_stage4_g1_tensor16x8x16_kernel",
		"_Z23implicit_convolve_sgemmIffLi128ELi5ELi5ELi3ELi3ELi3ELi1ELb1ELb0ELb1EEvv");
}

SIM_LIBRARY_API int cudnnConvolutionBackwardData(struct handle *handle, const void *alpha, struct tensor *w, const void *w_data,
	struct tensor *dy, const void *dy_data, struct convolution *convolution, int algo, void *space, size_t space_bytes,
	const void *beta, struct tensor *dx, void *dx_data)
{
	(void)alpha, (void)w_data, (void)dy_data, (void)convolution, (void)algo, (void)space, (void)space_bytes, (void)beta, (void)dx_data;
	return convolve(handle, dx, w, dy,
		"sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_stage4_kernel",
		"_ZN5cudnn3cnn14dgrad2d_alg1_1IfLi0ELi6ELi7ELi5ELi4ELi5ELb0ELb1EEEvv");
}

SIM_LIBRARY_API int cudnnConvolutionBackwardFilter(struct handle *handle, const void *alpha, struct tensor *x, const void *x_data,
	struct tensor *dy, const void *dy_data, struct convolution *convolution, int algo, void *space, size_t space_bytes,
	const void *beta, struct tensor *dw, void *dw_data)
{
	(void)alpha, (void)x_data, (void)dy_data, (void)convolution, (void)algo, (void)space, (void)space_bytes, (void)beta, (void)dw_data;
	return convolve(handle, x, dw, dy,
		"sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_stage3_kernel",
		"_ZN5cudnn3cnn17wgrad_alg0_engineIfLi128ELi5ELi5ELi3ELi3ELi3ELb0ELi512EEEvv");
}

static int each_element(const struct handle *handle, const struct tensor *tensor, const char *name)
{
	if (!handle || !tensor)
		return BAD;
	return sim_library_launch(name, sim_tiles(elements(tensor), 1024), 1, 1, 256, 0, handle->stream) ? FAILED : 0;
}

SIM_LIBRARY_API int cudnnActivationForward(struct handle *handle, void *activation, const void *alpha, struct tensor *x,
	const void *x_data, const void *beta, struct tensor *y, void *y_data)
{
	(void)activation, (void)alpha, (void)x_data, (void)beta, (void)y, (void)y_data;
	return each_element(handle, x, "_ZN5cudnn3ops24op_generic_tensor_kernelILi1EfffLi256EEEvv");
}

SIM_LIBRARY_API int cudnnSoftmaxForward(struct handle *handle, int algo, int mode, const void *alpha, struct tensor *x,
	const void *x_data, const void *beta, struct tensor *y, void *y_data)
{
	(void)algo, (void)mode, (void)alpha, (void)x_data, (void)beta, (void)y, (void)y_data;
	return each_element(handle, x, "_Z17softmax_fw_kernelILi2EffLi256ELi1ELi0ELi0ELi0ELi0EEvv");
}

SIM_LIBRARY_API int cudnnAddTensor(struct handle *handle, const void *alpha, struct tensor *a, const void *a_data, const void *beta,
	struct tensor *c, void *c_data)
{
	(void)alpha, (void)a, (void)a_data, (void)beta, (void)c_data;
	return each_element(handle, c, "_ZN5cudnn3ops16addTensor_kernelIffEEvv");
}

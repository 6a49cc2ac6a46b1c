/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by what they are for. See kernel_class.h. */
#include "reducer/tables/kernel_class.h"

#include "reducer/analysis/tensor_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Parts of names in lower case; a list ends with NULL. */
static const char *const collectives[] = {"nccl",	   "allreduce", "all_reduce", "allgather",
					  "reducescatter", "nvshmem",	"deep_ep",    NULL};
static const char *const layouts[] = {"nchwtonhwc", "nhwctonchw", "nchw2nhwc",		"nhwc2nchw",	    "ncdhw",
				      "transpose",  "permute",	  "swapdimension1and2", "shuffleintensor3", "convert_layout",
				      NULL};
static const char *const images[] = {
	"nvjpeg",	 "decodejpeg",	   "decode_jpeg", "resizebilinear",   "resizenearest", "resizebicubic",
	"cropandresize", "adjustcontrast", "adjusthue",	  "adjustsaturation", "rgbtohsv",      "hsvtorgb",
	"warp_affine",	 "warpaffine",	   "dali::",	  "random_crop",      "random_flip",   NULL};
static const char *const norms[] = {"batch_norm", "batchnorm", NULL};
static const char *const fused_norms[] = {"batch_norm", "batchnorm", "bn_fw",	 "bn_bw", "bnfw",
					  "bnbw",	"norm_fwd",  "norm_bwd", NULL};

static bool holds(const char *name, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(name, *parts))
			return true;
	return false;
}

/* The beginning of a name in lower case: what identifies it stands there. */
static void lower(const char *name, char out[512])
{
	size_t i = 0;

	for (; name && i < 511 && name[i]; i++)
		out[i] = (char)tolower((unsigned char)name[i]);
	out[i] = 0;
}

enum kernel_class kernel_class_of(const char *kernel, const char *op)
{
	char name[512], where[512];

	lower(kernel, name);
	lower(op, where);
	if (holds(name, collectives))
		return KERNEL_COLLECTIVE;
	if (tensor_name_could(kernel, NULL))
		return KERNEL_PRODUCT;
	if (holds(name, images) || holds(where, images))
		return KERNEL_IMAGE;
	if (holds(name, layouts) || strstr(where, "-layoutoptimizer"))
		return KERNEL_LAYOUT;
	if (holds(where, norms) && !strstr(where, "fused") && !holds(name, fused_norms) && !strstr(where, "aten::") &&
	    !strstr(where, "native_") && !strstr(where, "cudnn_"))
		return KERNEL_NORM_PART;
	return tensor_name_could(kernel, op) ? KERNEL_PRODUCT : KERNEL_OTHER;
}

const char *kernel_class_name(enum kernel_class class)
{
	static const char *const names[KERNEL_CLASSES] = {"other", "product", "collective", "layout", "image", "norm part"};

	return names[class];
}

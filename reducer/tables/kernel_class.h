/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel is for, as far as its name and its operation's name tell.
 *
 * Rule: a name is a guess: whoever shows the class says so. What no list knows is "other".
 */
#ifndef REDUCER_TABLES_KERNEL_CLASS_H
#define REDUCER_TABLES_KERNEL_CLASS_H

enum kernel_class {
	KERNEL_OTHER,
	KERNEL_PRODUCT,	   /* matrix products, convolutions, attention */
	KERNEL_COLLECTIVE, /* communication between devices */
	KERNEL_LAYOUT,	   /* changes the order of dimensions and nothing else */
	KERNEL_IMAGE,	   /* decodes, resizes or augments images */
	KERNEL_NORM_PART,  /* one of several kernels of a batch normalisation that is not fused */
	KERNEL_CLASSES
};

/* `op` may be "" or NULL. */
enum kernel_class kernel_class_of(const char *kernel, const char *op);
const char *kernel_class_name(enum kernel_class class);

#endif

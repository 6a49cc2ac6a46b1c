/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ops and functions; see reducer/model/function_names.h. */
#include "reducer/model/function_names.h"

#include "reducer/model/op_typed.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *function_plain_name(const char *name, size_t *length)
{
	static const char function[] = "__inference_", run[] = "__session_run ";

	if (strncmp(name, run, sizeof run - 1) == 0) {
		*length = strlen(name) - 2;
		return name + 2;
	}
	name += strncmp(name, function, sizeof function - 1) == 0 ? sizeof function - 1 : 0;
	*length = strlen(name);
	while (*length > 0 && isdigit((unsigned char)name[*length - 1]))
		--*length;
	*length -= *length > 1 && name[*length - 1] == '_';
	return name;
}

/* Eager ops have names of types alone: ReluGrad, BroadcastGradientArgs, Conv2DBackpropInput; not StopGradient. */
static int is_gradient(const char *name)
{
	const char *grad = strstr(name, "Grad");

	return strchr(name, '/') == NULL && ((grad != NULL && strcmp(grad, "Gradient") != 0) || strstr(name, "Backprop") != NULL);
}

/* Optimizers of Keras that add to the weights, or set them; as TensorFlow's scopes have their names. */
static const char *const adders[] = {"sgd", "adadelta", "adafactor", "ftrl", "muon"};

/* "while/body/sgd_1/AssignAddVariableOp_2:AssignAddVariableOp" */
static int is_adding(const char *name)
{
	const char *end = strstr(name, ":Assign"), *part = name;

	for (const char *next = strchr(part, '/'); end != NULL && next != NULL && next < end; next = strchr(part, '/')) {
		for (size_t i = 0; i < sizeof adders / sizeof *adders; i++) {
			size_t length = strlen(adders[i]);
			if (strncasecmp(part, adders[i], length) == 0 && (part[length] == '/' || part[length] == '_'))
				return 1;
		}
		part = next + 1;
	}
	return 0;
}

uint8_t function_op_kind(const char *name)
{
	if (strncmp(name, OP_TRACED, sizeof OP_TRACED - 1) == 0)
		return NAME_OF_TRACING;
	if (strstr(name, "gradient_tape/") != NULL || strstr(name, "gradients/") != NULL)
		return NAME_OF_TAPE;
	if (strstr(name, "ResourceApply") != NULL)
		return NAME_OF_OPTIMIZER;
	if ((strstr(name, ":AssignSubVariableOp") != NULL && strstr(name, "AssignMovingAvg") == NULL) || is_adding(name))
		return NAME_OF_UPDATE; /* Keras 3's optimizers; not an average of batches */
	if (strcmp(name, "IteratorGetNext") == 0)
		return NAME_OF_BATCH;
	if (strncmp(name, "ResourceSparseApply", 19) == 0 || strcmp(name, "AssignSubVariableOp") == 0)
		return NAME_OF_CHANGE;
	if (is_gradient(name))
		return NAME_OF_GRADIENT;
	if (strcmp(name, "VarHandleOp") == 0)
		return NAME_OF_VARIABLE;
	return strcmp(name, "MakeIterator") == 0 ? NAME_OF_ITERATOR : NAME_OTHER;
}

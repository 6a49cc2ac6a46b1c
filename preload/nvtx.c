/* SPDX-License-Identifier: Apache-2.0 */
/* Where NVTX enters; see collectors/nvtx.h. Rule: a process that is passed over says no, and pays nothing from then on. */
#include "collectors/nvtx.h"

#include "preload/real.h"
#include "writer/stream.h"

#include <dlfcn.h>
#include <errno.h>

#pragma weak dladdr /* guard.h says why */

#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) TFP_EXPORT type name parameters;
#include "collectors/tables/nvtx.def"
#undef TFP_HOOK

static const char *object_of(void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fname : NULL;
}

int InitializeInjectionNvtx2(tfp_nvtx_export *get_export)
{
	int error = errno;
	int is_attached = tfp_thread_start() != NULL && tfp_nvtx_attach(get_export, object_of);

	errno = error;
	return is_attached;
}

int InitializeInjectionNvtxExtension(struct tfp_nvtx_extension *extension)
{
	int error = errno;
	int is_attached = tfp_thread_start() != NULL && tfp_nvtx_attach_extension(extension);

	errno = error;
	return is_attached;
}

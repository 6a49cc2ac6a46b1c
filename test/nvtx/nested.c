/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of two domains for programs that are built without the vendor's header: a library. Domain 0 is the default one. */
#include <nvtx3/nvToolsExt.h>

void nested_push(int domain, const char *name);
void nested_pop(int domain);
unsigned long long nested_start(const char *name);
void nested_end(unsigned long long range);

static nvtxDomainHandle_t other;

__attribute__((constructor)) static void create(void)
{
	other = nvtxDomainCreateA("other");
}

static nvtxDomainHandle_t domain_of(int domain)
{
	return domain == 0 ? NULL : other;
}

void nested_push(int domain, const char *name)
{
	nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = name;
	nvtxDomainRangePushEx(domain_of(domain), &event);
}

void nested_pop(int domain)
{
	nvtxDomainRangePop(domain_of(domain));
}

unsigned long long nested_start(const char *name)
{
	return nvtxRangeStartA(name);
}

void nested_end(unsigned long long range)
{
	nvtxRangeEnd(range);
}

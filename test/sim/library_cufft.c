/* SPDX-License-Identifier: Apache-2.0 */
/* soname: libcufft.so.12 libcufft.so.11 */
/*
 * A fake cuFFT: plans, and one kernel for each factor of at most 4096 points.
 * Rule: see library.h. Results: 0 success, 1 invalid plan, 4 invalid value, 6 execution failed.
 */
#include "library.h"

enum { PLANS = 1024 };

static struct {
	bool is_used;
	uint64_t points, batches;
	void *stream;
} plans[PLANS]; /* of threads that do not race for one plan; numbers are taken one by one */
static _Atomic int next_plan = 1;

SIM_LIBRARY_API int cufftCreate(int *plan)
{
	int number = next_plan++;

	if (number >= PLANS)
		return 4;
	plans[number].is_used = true;
	*plan = number;
	return 0;
}

static bool is_plan(int plan)
{
	return plan > 0 && plan < PLANS && plans[plan].is_used;
}

static int fill(int plan, uint64_t points, uint64_t batches, size_t *room)
{
	if (!is_plan(plan))
		return 1;
	if (!points || !batches)
		return 4;
	plans[plan].points = points;
	plans[plan].batches = batches;
	if (room)
		*room = points * batches * 8;
	return 0;
}

static int make(int *plan, uint64_t points, uint64_t batches)
{
	int failed = points && batches ? cufftCreate(plan) : 4;

	return failed ? failed : fill(*plan, points, batches, NULL);
}

SIM_LIBRARY_API int cufftMakePlan1d(int plan, int nx, int type, int batch, size_t *room)
{
	(void)type;
	return nx < 1 || batch < 1 ? 4 : fill(plan, (uint64_t)nx, (uint64_t)batch, room);
}

SIM_LIBRARY_API int cufftMakePlanMany(int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
	int odist, int type, int batch, size_t *room)
{
	uint64_t points = 1;

	(void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist, (void)type;
	for (int i = 0; i < rank; i++)
		points *= (uint64_t)n[i];
	return batch < 1 ? 4 : fill(plan, points, (uint64_t)batch, room);
}

SIM_LIBRARY_API int cufftSetAutoAllocation(int plan, int is_wanted)
{
	(void)is_wanted;
	return is_plan(plan) ? 0 : 1;
}

SIM_LIBRARY_API int cufftSetWorkArea(int plan, void *room)
{
	(void)room;
	return is_plan(plan) ? 0 : 1;
}

SIM_LIBRARY_API int cufftGetVersion(int *version)
{
	*version = 12000;
	return 0;
}

SIM_LIBRARY_API int cufftPlan1d(int *plan, int nx, int type, int batch)
{
	(void)type;
	return nx < 1 || batch < 1 ? 4 : make(plan, (uint64_t)nx, (uint64_t)batch);
}

SIM_LIBRARY_API int cufftPlan2d(int *plan, int nx, int ny, int type)
{
	(void)type;
	return nx < 1 || ny < 1 ? 4 : make(plan, (uint64_t)nx * (uint64_t)ny, 1);
}

SIM_LIBRARY_API int cufftPlanMany(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist,
	int type, int batch)
{
	uint64_t points = 1;

	(void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist, (void)type;
	for (int i = 0; i < rank; i++)
		points *= (uint64_t)n[i];
	return batch < 1 ? 4 : make(plan, points, (uint64_t)batch);
}

SIM_LIBRARY_API int cufftSetStream(int plan, void *stream)
{
	if (!is_plan(plan))
		return 1;
	plans[plan].stream = stream;
	return 0;
}

SIM_LIBRARY_API int cufftDestroy(int plan)
{
	if (!is_plan(plan))
		return 1;
	plans[plan].is_used = false;
	return 0;
}

static int execute(int plan, const char *name)
{
	int failed = 0;

	if (!is_plan(plan))
		return 1;
	for (uint64_t left = plans[plan].points; left > 1 && !failed; left /= left > 4096 ? 4096 : left)
		failed = sim_library_launch(name, sim_tiles(plans[plan].points * plans[plan].batches, 4096), 1, 1, 256, 32768,
			plans[plan].stream);
	return failed ? 6 : 0;
}

#define ONE_WAY
#define BOTH_WAYS , __attribute__((unused)) int direction
#define EXECUTE(name, ways, kernel) \
	SIM_LIBRARY_API int name(int plan, void *from, void *to ways) \
	{ \
		(void)from, (void)to; \
		return execute(plan, kernel); \
	}
EXECUTE(cufftExecC2C, BOTH_WAYS, "_Z11regular_fftILj256E3EPTILj16EELj16E9offset_t_EvP6float2S2_")
EXECUTE(cufftExecR2C, ONE_WAY, "_Z10vector_fftILj256E3EPTILj16EELj16E9offset_t_EvPfP6float2")
EXECUTE(cufftExecC2R, ONE_WAY, "_Z11spRadix_fftILj256E3EPTILj16EELj16E9offset_t_EvP6float2Pf")
EXECUTE(cufftExecZ2Z, BOTH_WAYS, "_Z11regular_fftILj256E3EPTILj16EELj16E9offset_t_EvP7double2S2_")
EXECUTE(cufftExecD2Z, ONE_WAY, "_Z10vector_fftILj256E3EPTILj16EELj16E9offset_t_EvPdP7double2")
EXECUTE(cufftExecZ2D, ONE_WAY, "_Z11dpRadix_fftILj256E3EPTILj16EELj16E9offset_t_EvP7double2Pd")

SIM_LIBRARY_API int cufftXtExec(int plan, void *from, void *to, int direction)
{
	return cufftExecC2C(plan, from, to, direction);
}

#define SIM_LIBRARY_NOT(name) SIM_LIBRARY_API int name(void) { return 16; }
#include "library_cufft_not.def"

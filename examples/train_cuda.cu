/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop in CUDA, as a newcomer would write it: a network of two layers learns to add two numbers. Data goes to the
 * device, forward, backward and optimiser kernels run, the loss comes back; each step is marked through tfprof.h.
 *
 *	nvcc -cudart shared -I preload -o train_cuda examples/train_cuda.cu -ldl
 *	tfprof run -- ./train_cuda [STEPS]
 *
 * Without tfprof it runs the same: the marks find nothing and do nothing. On the simulated GPU (test/sim) kernels take time
 * but compute nothing, so there the loss stays 0.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "tfprof.h"

#define BATCH 256
#define INPUTS 2
#define HIDDEN 128
#define CHECK(call) check((call), #call)

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	fprintf(stderr, "train_cuda: %s: %s\n", what, cudaGetErrorString(result));
	exit(1);
}

/* hidden = max(0, x * w1) */
__global__ void forward_hidden(float *hidden, const float *x, const float *w1)
{
	int unit = threadIdx.x, sample = blockIdx.x;
	float sum = 0;

	for (int i = 0; i < INPUTS; i++)
		sum += x[sample * INPUTS + i] * w1[i * HIDDEN + unit];
	hidden[sample * HIDDEN + unit] = sum > 0 ? sum : 0;
}

/* error = hidden * w2 - y; the loss is the mean of its square */
__global__ void forward_loss(float *error, float *loss, const float *hidden, const float *w2, const float *y)
{
	__shared__ float part[HIDDEN];
	int unit = threadIdx.x, sample = blockIdx.x;

	part[unit] = hidden[sample * HIDDEN + unit] * w2[unit];
	__syncthreads();
	for (int half = HIDDEN / 2; half; half /= 2) {
		if (unit < half)
			part[unit] += part[unit + half];
		__syncthreads();
	}
	if (unit == 0) {
		error[sample] = part[0] - y[sample];
		atomicAdd(loss, error[sample] * error[sample] / BATCH);
	}
}

__global__ void backward_output(float *gradient, const float *error, const float *hidden)
{
	int unit = threadIdx.x;
	float sum = 0;

	for (int sample = 0; sample < BATCH; sample++)
		sum += error[sample] * hidden[sample * HIDDEN + unit];
	gradient[unit] = 2 * sum / BATCH;
}

__global__ void backward_hidden(float *gradient, const float *error, const float *hidden, const float *w2, const float *x)
{
	int unit = threadIdx.x, input = blockIdx.x;
	float sum = 0;

	for (int sample = 0; sample < BATCH; sample++)
		if (hidden[sample * HIDDEN + unit] > 0)
			sum += error[sample] * w2[unit] * x[sample * INPUTS + input];
	gradient[input * HIDDEN + unit] = 2 * sum / BATCH;
}

__global__ void optimiser_sgd(float *weights, const float *gradient, float rate, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		weights[i] -= rate * gradient[i];
}

struct device_state {
	cudaStream_t stream;
	float *x, *y, *w1, *w2, *hidden, *error, *loss, *gradient1, *gradient2;
};

static float *on_device(size_t count)
{
	float *memory;

	CHECK(cudaMalloc(&memory, count * sizeof *memory));
	return memory;
}

static void begin(struct device_state *state, float *host)
{
	CHECK(cudaStreamCreate(&state->stream));
	state->x = on_device(BATCH * INPUTS);
	state->y = on_device(BATCH);
	state->w1 = on_device(INPUTS * HIDDEN);
	state->w2 = on_device(HIDDEN);
	state->hidden = on_device(BATCH * HIDDEN);
	state->error = on_device(BATCH);
	state->loss = on_device(1);
	state->gradient1 = on_device(INPUTS * HIDDEN);
	state->gradient2 = on_device(HIDDEN);
	for (int i = 0; i < INPUTS * HIDDEN + HIDDEN; i++)
		host[i] = (float)(rand() % 2001 - 1000) / 8000;
	CHECK(cudaMemcpy(state->w1, host, INPUTS * HIDDEN * sizeof *host, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(state->w2, host + INPUTS * HIDDEN, HIDDEN * sizeof *host, cudaMemcpyHostToDevice));
}

static void load_data(struct device_state *state, float *host)
{
	tfprof_push("load data");
	for (int i = 0; i < BATCH; i++) {
		host[i * INPUTS] = (float)(rand() % 1000) / 1000;
		host[i * INPUTS + 1] = (float)(rand() % 1000) / 1000;
		host[BATCH * INPUTS + i] = host[i * INPUTS] + host[i * INPUTS + 1];
	}
	CHECK(cudaMemcpyAsync(state->x, host, BATCH * INPUTS * sizeof *host, cudaMemcpyHostToDevice, state->stream));
	CHECK(cudaMemcpyAsync(state->y, host + BATCH * INPUTS, BATCH * sizeof *host, cudaMemcpyHostToDevice, state->stream));
	tfprof_pop();
}

static void train(struct device_state *state)
{
	tfprof_push("forward");
	CHECK(cudaMemsetAsync(state->loss, 0, sizeof(float), state->stream));
	forward_hidden<<<BATCH, HIDDEN, 0, state->stream>>>(state->hidden, state->x, state->w1);
	forward_loss<<<BATCH, HIDDEN, 0, state->stream>>>(state->error, state->loss, state->hidden, state->w2, state->y);
	tfprof_pop();
	tfprof_push("backward");
	backward_output<<<1, HIDDEN, 0, state->stream>>>(state->gradient2, state->error, state->hidden);
	backward_hidden<<<INPUTS, HIDDEN, 0, state->stream>>>(state->gradient1, state->error, state->hidden, state->w2, state->x);
	tfprof_pop();
	tfprof_push("optimiser");
	optimiser_sgd<<<INPUTS, HIDDEN, 0, state->stream>>>(state->w1, state->gradient1, 0.1f, INPUTS * HIDDEN);
	optimiser_sgd<<<1, HIDDEN, 0, state->stream>>>(state->w2, state->gradient2, 0.1f, HIDDEN);
	tfprof_pop();
	CHECK(cudaGetLastError());
}

static float read_loss(struct device_state *state)
{
	float loss;

	tfprof_push("read loss");
	CHECK(cudaMemcpyAsync(&loss, state->loss, sizeof loss, cudaMemcpyDeviceToHost, state->stream));
	CHECK(cudaStreamSynchronize(state->stream));
	tfprof_pop();
	return loss;
}

int main(int count, char **arguments)
{
	int steps = count > 1 ? atoi(arguments[1]) : 200;
	struct device_state state;
	cudaDeviceProp facts;
	float *host, loss = 0;

	CHECK(cudaGetDeviceProperties(&facts, 0));
	printf("train_cuda: %d steps on %s\n", steps, facts.name);
	CHECK(cudaMallocHost(&host, BATCH * (INPUTS + 1) * sizeof *host));
	begin(&state, host);
	for (int step = 0; step < steps; step++) {
		tfprof_step((uint64_t)step);
		load_data(&state, host);
		train(&state);
		loss = read_loss(&state);
		if (step % 50 == 0)
			printf("step %d: loss %.5f\n", step, loss);
	}
	printf("step %d: loss %.5f\n", steps, loss);
	CHECK(cudaDeviceSynchronize());
	return 0;
}

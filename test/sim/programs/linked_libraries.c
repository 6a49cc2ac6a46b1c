/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of GPU libraries: linked_libraries ROUNDS. Each round makes one product by cuBLAS (one in f16, one split along k),
 * one by cuBLASLt, one convolution and one softmax by cuDNN, one transform by cuFFT, and by NCCL one reduction of all and a
 * group of one send and one receive; copies are asked of the driver. A second thread does the same when ROUNDS is even.
 * With a second word it makes the products once, captures them into a graph, and launches that ROUNDS times.
 * Rule: linked, so that a preloaded library stands in front of each call; a result that is not 0 is printed.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags);
int cuGraphLaunch(void *executable, void *stream);
int cublasSetStream_v2(void *handle, void *stream);
int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha, const float *a, int lda,
	const float *b, int ldb, const float *beta, float *c, int ldc);
int cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,
	const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc, int compute, int algo);
int cublasLtCreate(void **handle);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
int cublasLtMatmulDescCreate(void **product, int compute, int scale);
int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
	const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
	size_t workspace_bytes, void *stream);
int cudnnCreate(void **handle);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnSetTensor4dDescriptor(void *tensor, int format, int type, int n, int c, int h, int w);
int cudnnCreateFilterDescriptor(void **filter);
int cudnnSetFilter4dDescriptor(void *filter, int type, int format, int k, int c, int h, int w);
int cudnnCreateConvolutionDescriptor(void **convolution);
int cudnnSetConvolution2dDescriptor(void *convolution, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w, int mode,
	int type);
int cudnnConvolutionForward(void *handle, const void *alpha, void *x, const void *x_data, void *w, const void *w_data,
	void *convolution, int algo, void *space, size_t bytes, const void *beta, void *y, void *y_data);
int cudnnSoftmaxForward(void *handle, int algo, int mode, const void *alpha, void *x, const void *x_data, const void *beta, void *y,
	void *y_data);
int cufftPlan1d(int *plan, int nx, int type, int batch);
int cufftExecC2C(int plan, void *from, void *to, int direction);
struct id {
	char bytes[128];
};
int ncclGetUniqueId(struct id *id);
int ncclCommInitRank(void **communicator, int ranks, struct id id, int rank);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *communicator, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclSend(const void *from, size_t count, int type, int peer, void *communicator, void *stream);
int ncclRecv(void *to, size_t count, int type, int peer, void *communicator, void *stream);

static int rounds;
static _Atomic int failures;

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %d\n", what, result);
	failures++;
}
#define CHECK(call) check((call), #call)

static void products(void *blas, void *light, void *stream)
{
	void *product, *a, *b, *d;
	float one = 1;

	CHECK(cublasSgemm_v2(blas, 0, 0, 512, 256, 64, &one, NULL, 512, NULL, 64, &one, NULL, 512));
	CHECK(cublasSgemm_v2(blas, 1, 0, 64, 64, 8192, &one, NULL, 8192, NULL, 8192, &one, NULL, 64));
	CHECK(cublasGemmEx(blas, 0, 1, 384, 128, 96, &one, NULL, 2, 384, NULL, 2, 128, &one, NULL, 2, 384, 68, -1));
	CHECK(cublasLtMatmulDescCreate(&product, 68, 0));
	CHECK(cublasLtMatrixLayoutCreate(&a, 14, 1024, 640, 1024));
	CHECK(cublasLtMatrixLayoutCreate(&b, 14, 640, 2048, 640));
	CHECK(cublasLtMatrixLayoutCreate(&d, 14, 1024, 2048, 1024));
	CHECK(cublasLtMatmul(light, product, &one, NULL, a, NULL, b, &one, NULL, d, NULL, d, NULL, NULL, 0, stream));
}

static void replay(void *context)
{
	void *blas, *light, *stream, *graph, *executable;

	CHECK(cuCtxSetCurrent(context));
	CHECK(cublasCreate_v2(&blas));
	CHECK(cublasLtCreate(&light));
	CHECK(cuStreamCreate(&stream, 1));
	CHECK(cublasSetStream_v2(blas, stream));
	products(blas, light, stream);
	CHECK(cuStreamBeginCapture_v2(stream, 0));
	products(blas, light, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
	for (int i = 0; i < rounds; i++)
		CHECK(cuGraphLaunch(executable, stream));
	CHECK(cuCtxSynchronize());
}

static void *run(void *context)
{
	void *blas, *light, *dnn, *x, *w, *y, *convolution, *communicator;
	struct id id;
	float one = 1;
	int plan;

	CHECK(cuCtxSetCurrent(context));
	CHECK(cublasCreate_v2(&blas));
	CHECK(cublasLtCreate(&light));
	CHECK(cudnnCreate(&dnn));
	CHECK(cudnnCreateTensorDescriptor(&x));
	CHECK(cudnnCreateTensorDescriptor(&y));
	CHECK(cudnnCreateFilterDescriptor(&w));
	CHECK(cudnnCreateConvolutionDescriptor(&convolution));
	CHECK(cudnnSetTensor4dDescriptor(x, 0, 0, 32, 16, 28, 28));
	CHECK(cudnnSetTensor4dDescriptor(y, 0, 0, 32, 64, 28, 28));
	CHECK(cudnnSetFilter4dDescriptor(w, 0, 0, 64, 16, 3, 3));
	CHECK(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, 1, 0));
	CHECK(cufftPlan1d(&plan, 65536, 0x29, 2));
	CHECK(ncclGetUniqueId(&id));
	CHECK(ncclCommInitRank(&communicator, 2, id, 1));
	for (int i = 0; i < rounds; i++) {
		products(blas, light, NULL);
		CHECK(cudnnConvolutionForward(dnn, &one, x, NULL, w, NULL, convolution, 1, NULL, 0, &one, y, NULL));
		CHECK(cudnnSoftmaxForward(dnn, 1, 1, &one, y, NULL, &one, y, NULL));
		CHECK(cufftExecC2C(plan, NULL, NULL, -1));
		CHECK(ncclAllReduce(NULL, NULL, 4096, 7, 0, communicator, NULL));
		CHECK(ncclGroupStart());
		CHECK(ncclSend(NULL, 1000, 9, 0, communicator, NULL));
		CHECK(ncclRecv(NULL, 1000, 9, 0, communicator, NULL));
		CHECK(ncclGroupEnd());
	}
	CHECK(cuCtxSynchronize());
	return NULL;
}

int main(int count, char **words)
{
	pthread_t other;
	void *context;

	rounds = count > 1 ? atoi(words[1]) : 1;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	if (count > 2) {
		replay(context);
		return failures ? 3 : 0;
	}
	if (rounds % 2 == 0)
		pthread_create(&other, NULL, run, context);
	run(context);
	if (rounds % 2 == 0)
		pthread_join(other, NULL);
	printf("%d rounds, %d failures\n", rounds, failures);
	return failures ? 3 : 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of TensorFlow and PyTorch that return an object, by the names that the real ones export: each object knows where
 * it was made, so that a caller sees whether it came whole. Built four times: -DTENSORFLOW libtensorflow_framework.so.2,
 * -DC10 libc10.so, -DTORCH libtorch_cpu.so, else the program, which says "all objects came whole" or what did not.
 */
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// What is returned: no copy of it is like it.
struct placed {
	const placed *made_at = this;
	int number;

	explicit placed(int n) : number(n) {}
	placed(const placed &other) : number(other.number) {}
	~placed() { number = -1; }
	bool is_whole(int n) const { return made_at == this && number == n; }
};

namespace tensorflow {
struct ProfileOptions;
class Tensor;
namespace data {
struct IteratorContext {};
struct IteratorBase {
	std::string own_prefix = "Iterator::Root";
	placed InitializeBase(IteratorContext *context, const IteratorBase *parent);
};
struct DatasetBaseIterator : IteratorBase {
	~DatasetBaseIterator();
	placed GetNext(IteratorContext *context, std::vector<Tensor> *tensors, bool *is_over);
	std::string BuildTraceMeName();
	const std::string &prefix() const;
};
} // namespace data
} // namespace tensorflow

namespace tsl::profiler {
struct ProfilerInterface {};
using Factory = std::function<std::unique_ptr<ProfilerInterface>(const tensorflow::ProfileOptions &)>;
void RegisterProfilerFactory(Factory factory);
struct TraceMeRecorder {
	static bool Start(int level);
	static placed Stop();
	placed StopRecording();
};
struct AnnotationStack {
	static void Enable(bool enable);
	static void PushAnnotation(std::string_view name);
	static void PopAnnotation();
};
namespace internal {
extern int g_trace_level;
}
} // namespace tsl::profiler

namespace c10 {
bool memoryProfilingEnabled();
}

namespace at {
struct ObserverContext {
	virtual ~ObserverContext() = default;
};
struct RecordFunction {
	uint64_t words[40]; // whoever writes into these harms
	const char *name() const;
};
struct RecordFunctionCallback {
	std::unique_ptr<ObserverContext> (*start)(const RecordFunction &);
	void (*end)(const RecordFunction &, ObserverContext *);
	double probability;
	std::array<bool, 10> scopes;
	bool needs_inputs, needs_outputs, needs_ids;
};
uint64_t addGlobalCallback(RecordFunctionCallback callback);
int run_op(int number); // 0, or what was wrong
} // namespace at

#if defined(TENSORFLOW)
namespace tensorflow::data {
placed IteratorBase::InitializeBase(IteratorContext *, const IteratorBase *parent) { return placed(parent ? 11 : 10); }
DatasetBaseIterator::~DatasetBaseIterator() = default;
placed DatasetBaseIterator::GetNext(IteratorContext *, std::vector<Tensor> *tensors, bool *is_over)
{
	*is_over = tensors != nullptr;
	return placed(12);
}
std::string DatasetBaseIterator::BuildTraceMeName() { return "Iterator::Root#a text that is too long to lie within its string#"; }
const std::string &DatasetBaseIterator::prefix() const { return own_prefix; }
} // namespace tensorflow::data

namespace tsl::profiler {
void RegisterProfilerFactory(Factory factory) { (void)factory; }
bool TraceMeRecorder::Start(int level) { return level == 2; }
placed TraceMeRecorder::Stop() { return placed(13); }
placed TraceMeRecorder::StopRecording() { return placed(14); }
void AnnotationStack::Enable(bool) {}
void AnnotationStack::PushAnnotation(std::string_view) {}
void AnnotationStack::PopAnnotation() {}
namespace internal {
int g_trace_level = -1;
}
} // namespace tsl::profiler

#elif defined(C10)
bool c10::memoryProfilingEnabled() { return false; }

#elif defined(TORCH)
namespace at {
static std::vector<RecordFunctionCallback> callbacks;

const char *RecordFunction::name() const { return "aten::returned"; }

uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
	callbacks.push_back(callback);
	return callbacks.size();
}

int run_op(int number)
{
	RecordFunction function;

	for (uint64_t &word : function.words)
		word = 0x5a5a5a5a00000000u + (uint64_t)number;
	for (const RecordFunctionCallback &callback : callbacks) {
		if (!callback.scopes[0]) // an op's; the other callback is for ranges of the user
			continue;
		std::unique_ptr<ObserverContext> context = callback.start(function);
		if (context)
			return 1;
		callback.end(function, context.get());
	}
	for (uint64_t word : function.words)
		if (word != 0x5a5a5a5a00000000u + (uint64_t)number)
			return 2;
	return callbacks.size() <= 2 ? 0 : 3;
}
} // namespace at

#else
static int wrong(const char *what)
{
	std::printf("%s is wrong\n", what);
	return 1;
}

static int tensorflow_is_wrong()
{
	tensorflow::data::IteratorContext context;
	tensorflow::data::DatasetBaseIterator root, child;
	tsl::profiler::TraceMeRecorder recorder;
	bool is_over = true;

	tsl::profiler::RegisterProfilerFactory(nullptr);
	for (int i = 0; i < 100; i++) {
		tsl::profiler::AnnotationStack::PushAnnotation("returned:Op");
		placed made = root.InitializeBase(&context, nullptr), below = child.InitializeBase(&context, &root);
		if (!made.is_whole(10) || !below.is_whole(11))
			return wrong("what InitializeBase returned");
		placed next = root.GetNext(&context, nullptr, &is_over);
		if (!next.is_whole(12) || is_over)
			return wrong("what GetNext returned");
		tsl::profiler::AnnotationStack::PopAnnotation();
	}
	if (tsl::profiler::TraceMeRecorder::Start(1) || !tsl::profiler::TraceMeRecorder::Start(2))
		return wrong("what Start returned");
	placed stopped = tsl::profiler::TraceMeRecorder::Stop(), recorded = recorder.StopRecording();
	return stopped.is_whole(13) && recorded.is_whole(14) ? 0 : wrong("what Stop returned");
}

int main()
{
	if (tensorflow_is_wrong() || c10::memoryProfilingEnabled())
		return 1;
	for (int i = 0; i < 100; i++)
		if (at::run_op(i))
			return wrong("what a callback of PyTorch returned");
	std::puts("all objects came whole");
	return 0;
}
#endif

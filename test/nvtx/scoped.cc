// SPDX-License-Identifier: Apache-2.0
// NVTX through its C++ interface: scoped ranges in a domain of their own, registered names, a unique range on two threads.
#include <nvtx3/nvtx3.hpp>

#include <thread>

struct kitchen_domain {
	static constexpr char const *name{"kitchen"};
};

struct stir_name {
	static constexpr char const *message{"stir"};
};

static int stir(int depth)
{
	nvtx3::scoped_range_in<kitchen_domain> range{nvtx3::registered_string_in<kitchen_domain>::get<stir_name>(),
						     nvtx3::payload{depth}, nvtx3::rgb{1, 2, 3}};
	return depth > 0 ? stir(depth - 1) : 0;
}

int main()
{
	for (int i = 0; i < 10; i++) {
		nvtx3::scoped_range whole{"cook"};
		stir(2);
	}
	nvtx3::unique_range_in<kitchen_domain> across{"oven"};
	std::thread other([moved = std::move(across)] { nvtx3::mark_in<kitchen_domain>("ding"); });
	other.join();
	return 0;
}

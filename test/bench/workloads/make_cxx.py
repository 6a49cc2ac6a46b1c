# SPDX-License-Identifier: Apache-2.0
"""Prints a C++ source that is heavy to compile: COUNT families of templates over standard containers. Deterministic.

    make_cxx.py COUNT
"""
import sys

HEAD = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

template <int N> struct chain {
	template <class... T> static auto grow(T... t) { return chain<N - 1>::grow(t..., std::make_tuple(N, t...)); }
};
template <> struct chain<0> {
	template <class... T> static auto grow(T... t) { return std::make_tuple(t...); }
};
"""

FAMILY = """
struct kind_{i} {{
	std::map<std::string, std::vector<std::unique_ptr<int>>> index;
	std::unordered_map<int, std::function<int(int, kind_{i} &)>> calls;
	template <class T> T sum(const std::set<T> &values) const
	{{
		T total{{}};
		std::for_each(values.begin(), values.end(), [&](const T &value) {{ total += value; }});
		return total;
	}}
}};
int use_{i}(int n)
{{
	kind_{i} k;
	k.calls[n] = [](int a, kind_{i} &b) {{ return a + {i} + (int)b.index.size(); }};
	k.index["key " + std::to_string(n)].push_back(std::make_unique<int>({i}));
	std::ostringstream text;
	text << std::get<0>(chain<4>::grow(n, {i}, 'c', 1.0 * n)) << k.sum(std::set<long>{{1, 2, {i}}});
	return k.calls[n](n, k) + (int)text.str().size();
}}
"""


def main():
    sys.stdout.write(HEAD)
    for i in range(int(sys.argv[1])):
        sys.stdout.write(FAMILY.format(i=i))


main()

# Makefile - the few commands; CMake does the work, and CMakePresets.json has the configurations.
#
#   make               the program, build/facet        make check-asan   all tests with the sanitizers
#   make demo          the same, and one question      make pi5          the program for aarch64, build-pi5/facet
#   make check         everything, and all tests       make check-arm    its tests under qemu
#   make install       PREFIX=/usr/local DESTDIR=      make format, make lint, make clean
#
# All but install and clean first see that what they need is installed (tools/setup.sh).

PREFIX ?= /usr/local
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
TESTS ?= .

MAKEFLAGS += --no-print-directory
SOURCES = $(shell git ls-files '*.c' '*.h' '*.cc')
LINTED = $(filter-out src/kernels/neon%,$(shell git ls-files 'src/*.c')) # neon is no part of a build for x86-64
CTEST = ctest --output-on-failure --no-tests=error --parallel $(JOBS) --tests-regex '$(TESTS)'

all:
	@tools/setup.sh build
	@cmake --preset release
	@cmake --build build --parallel $(JOBS) --target facet-cli

demo: all
	build/facet run -m models/demo.facet "The capital of France is"

check:
	@tools/setup.sh check
	@cmake --preset release
	@cmake --build build --parallel $(JOBS)
	$(CTEST) --test-dir build

check-asan:
	@tools/setup.sh check
	@cmake --preset asan
	@cmake --build build-asan --parallel $(JOBS)
	$(CTEST) --test-dir build-asan

pi5:
	@tools/setup.sh arm
	@cmake --preset pi5
	@cmake --build build-pi5 --parallel $(JOBS) --target facet-cli

check-arm:
	@tools/setup.sh arm
	@cmake --preset pi5
	@cmake --build build-pi5 --parallel $(JOBS)
	$(CTEST) --test-dir build-pi5

# Versions are pinned, because every version formats and warns a little differently.
format:
	clang-format-14 -i $(SOURCES)

lint:
	@tools/setup.sh check
	@cmake --preset debug
	clang-tidy-14 --quiet -p build-debug $(LINTED)

install: all
	cmake --install build --prefix '$(PREFIX)'

clean:
	rm -rf build build-asan build-debug build-pi5

.PHONY: all demo check check-asan pi5 check-arm format lint install clean

# Makefile - the few commands; CMake does the work, and CMakePresets.json has the configurations.
#
#   make               the program, build/facet        make check-asan   all tests with the sanitizers
#   make demo          the same, and one question      make pi5          the program for aarch64, build-pi5/facet
#   make check         everything, and all tests       make check-arm    its tests under qemu, on three cores
#   make deb           a Debian package of it          make deb-pi5      one for arm64, in build-pi5-deb
#   make install       PREFIX=/usr/local DESTDIR=      make format, make lint, make clean
#
# All but install and clean first see that what they need is installed (tools/setup.sh).

PREFIX ?= /usr/local
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
TESTS ?= .
# The cores of a Raspberry Pi 5, a Pi 4, and the newest that qemu has; on an Arm machine its own.
CORES ?= $(if $(filter aarch64,$(shell uname -m)),native,cortex-a76 cortex-a72 max)

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

ARM_SHORT = test_kernels test_vocabulary test_tokenizer test_tokenizer_vectors test_generate

check-arm:
	@tools/setup.sh arm
	@cmake --preset pi5
	@cmake --build build-pi5 --parallel $(JOBS)
	@left_out=none; for core in $(CORES); do echo "== $$core"; \
	    QEMU_CPU=$$core $(CTEST) --label-exclude $$left_out --test-dir build-pi5 || exit 1; left_out=every_core; done

# What of it is short enough for .ci/run: kernels, tokenizer and demo on the core of a Pi 5.
check-arm-short: TESTS = ^(check_kernels_cortex-a76|test_cores|test_static|test_cli_run|$(subst $() ,|,$(ARM_SHORT)))$$
check-arm-short:
	@tools/setup.sh arm
	@cmake --preset pi5
	@cmake --build build-pi5 --parallel $(JOBS) --target facet-cli check_kernels $(ARM_SHORT)
	QEMU_CPU=cortex-a76 $(CTEST) --test-dir build-pi5

# Packages for Debian, Raspberry Pi OS and Ubuntu: the program with its downloader, and libraries of the system.
deb: all
	@tools/make_deb.sh build

deb-pi5:
	@tools/setup.sh arm-deb
	@cmake --preset pi5-deb
	@cmake --build build-pi5-deb --parallel $(JOBS) --target facet-cli
	@tools/make_deb.sh build-pi5-deb

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
	rm -rf build build-asan build-debug build-pi5 build-pi5-deb

.PHONY: all demo check check-asan pi5 check-arm check-arm-short deb deb-pi5 format lint install clean

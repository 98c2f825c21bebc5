# Cross build for 64-bit ARM boards (Raspberry Pi 3, 4, 5 and newer) with Debian's compiler. Libraries are Debian's arm64
# packages (tools/setup.sh arm), which lie beside the host's own. The program is linked statically, so that it runs on any
# board; tests run under qemu (tools/run_arm.sh).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(FACET_CROSS_CXX aarch64-linux-gnu-g++) # only one test is C++: without a compiler it is left out
set(CMAKE_CXX_COMPILER ${FACET_CROSS_CXX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)

if(NOT DEFINED FACET_STATIC) # the package for Debian is not static
  set(FACET_STATIC ON)
endif()
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../tools/run_arm.sh)
endif()

# Files of kernels that need more than the base instruction set of their architecture. Each is compiled with its own
# flags, where that architecture is the target, and left out elsewhere; select.c picks a table at run time.
set(FACET_X86 FALSE)
set(FACET_ARM FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(FACET_X86 TRUE)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(FACET_ARM TRUE)
endif()

macro(facet_kernels here file)
  if(${here})
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/${file}.c PROPERTIES COMPILE_OPTIONS "${ARGN}")
  else()
    list(REMOVE_ITEM FACET_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/${file}.c)
  endif()
endmacro()

set(FACET_AVX2 -mavx2 -mfma -mf16c)
facet_kernels(FACET_X86 avx2 ${FACET_AVX2})
facet_kernels(FACET_X86 avxvnni ${FACET_AVX2} -mavxvnni)
set(FACET_AVX512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma -mf16c -mprefer-vector-width=512)
facet_kernels(FACET_X86 avx512 ${FACET_AVX512})
facet_kernels(FACET_X86 amx ${FACET_AVX512})

# gcc's first scheduler moves loads up until accumulators are spilled; most of these cores reorder by themselves.
facet_kernels(FACET_ARM neon -fno-schedule-insns)
facet_kernels(FACET_ARM neon_dotprod -march=armv8.2-a+dotprod -fno-schedule-insns)
facet_kernels(FACET_ARM neon_i8mm -march=armv8.2-a+dotprod+i8mm -fno-schedule-insns)

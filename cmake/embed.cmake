# The demo model becomes part of the library: src/engine/demo_data.S takes models/demo.facet in, or nothing if it is not there.
# The glob is looked at again in every build, so that a demo that appears, changes or goes away is noticed.
enable_language(ASM)
set(FACET_DEMO_SOURCE ${PROJECT_SOURCE_DIR}/src/engine/demo_data.S)
file(GLOB FACET_DEMO CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/demo.facet)
if(FACET_DEMO)
  set_source_files_properties(${FACET_DEMO_SOURCE} PROPERTIES
    COMPILE_DEFINITIONS "FACET_DEMO_FILE=\"${FACET_DEMO}\"" OBJECT_DEPENDS ${FACET_DEMO})
endif()
list(APPEND FACET_SOURCES ${FACET_DEMO_SOURCE})

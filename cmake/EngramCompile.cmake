# How every target of the project is compiled.

include_guard(GLOBAL)
find_program(ENGRAM_CCACHE ccache)
if(ENGRAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ENGRAM_CCACHE})
endif()

add_library(engram_compile INTERFACE)
target_include_directories(engram_compile INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(engram_compile INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                                $<$<BOOL:${ENGRAM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(engram_compile INTERFACE -Wthread-safety)
endif()
# Flush-to-zero and reassociation would change rows: e8m0 code 0 is a subnormal float.
target_compile_options(engram_compile INTERFACE -fno-fast-math -ffp-contract=off)

option(ENGRAM_SANITIZE_TESTS "ctest also builds and runs the asan and tsan presets and clang's checks (minutes)" OFF)
if(ENGRAM_SANITIZE)
  add_compile_options(-fsanitize=${ENGRAM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ENGRAM_SANITIZE})
endif()

# engram_library(NAME SOURCES ... PUBLIC ... PRIVATE ...): a static library `NAME` of this folder.
function(engram_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE engram_compile ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

# engram_program(NAME SOURCES ... LINK ...): a program in build/<preset>/bin/.
function(engram_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE engram_compile ${ARG_LINK})
endfunction()

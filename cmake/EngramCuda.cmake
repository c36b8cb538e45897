# ENGRAM_CUDA=AUTO|ON|OFF: whether the GPU ranks (shard/gpu/) are built for real. Sets ENGRAM_WITH_CUDA; then the CUDA
# language is enabled, and the target engram_cuda has the runtime and NCCL. ON is an error where something is missing,
# AUTO says what is.
#
# Nothing is run on a GPU here, and the machine that builds may have none: architectures are named, never "native".

include_guard(GLOBAL)
set(ENGRAM_CUDA_MIN 12.4)
set(ENGRAM_WITH_CUDA OFF)

# engram_find_nvcc(VERSION): finds the compiler and its version; `VERSION` stays empty without one.
function(engram_find_nvcc version)
  find_program(ENGRAM_NVCC nvcc HINTS ${CUDAToolkit_ROOT} ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  set(${version} "" PARENT_SCOPE)
  if(ENGRAM_NVCC)
    execute_process(COMMAND ${ENGRAM_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "release [0-9.]+, V([0-9.]+)")
      set(${version} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# engram_missing_for_cuda(WHAT VERSION): in words, what keeps the GPU ranks from being built; empty when nothing does.
function(engram_missing_for_cuda what version)
  if(NOT version)
    set(${what} "no CUDA compiler (nvcc) found" PARENT_SCOPE)
    return()
  elseif(version VERSION_LESS ENGRAM_CUDA_MIN)
    set(${what} "${ENGRAM_NVCC} is ${version}, CUDA ${ENGRAM_CUDA_MIN} or newer is needed" PARENT_SCOPE)
    return()
  endif()
  cmake_path(GET ENGRAM_NVCC PARENT_PATH bin)
  find_package(CUDAToolkit QUIET)
  # NCCL_ROOT: a prefix of its own. PyPI's nvidia-nccl-cu* has the library by its version alone.
  find_path(ENGRAM_NCCL_INCLUDE nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} ${bin}/../include
            PATH_SUFFIXES include)
  find_library(ENGRAM_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR}
               ${bin}/../lib64 ${bin}/../lib PATH_SUFFIXES lib lib64)
  if(NOT CUDAToolkit_FOUND)
    set(${what} "${ENGRAM_NVCC} comes without a CUDA toolkit that CMake finds" PARENT_SCOPE)
  elseif(NOT ENGRAM_NCCL_INCLUDE OR NOT ENGRAM_NCCL_LIBRARY)
    set(${what} "NCCL (nccl.h, libnccl: Debian's libnccl-dev or NVIDIA's) not found" PARENT_SCOPE)
  else()
    set(${what} "" PARENT_SCOPE)
  endif()
endfunction()

if(NOT ENGRAM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ENGRAM_CUDA is ${ENGRAM_CUDA}; it can be AUTO, ON or OFF")
elseif(ENGRAM_CUDA STREQUAL "OFF")
  message(STATUS "GPU ranks: off (ENGRAM_CUDA=OFF)")
  return()
elseif(ENGRAM_CUDA STREQUAL "AUTO" AND ENGRAM_SANITIZE)
  message(STATUS "GPU ranks: off: the sanitizers look at the CUDA double (tests/gpu/double)")
  return()
endif()

engram_find_nvcc(ENGRAM_NVCC_VERSION)
engram_missing_for_cuda(missing "${ENGRAM_NVCC_VERSION}")
if(missing AND ENGRAM_CUDA STREQUAL "ON")
  message(FATAL_ERROR "ENGRAM_CUDA=ON: ${missing}")
elseif(missing)
  message(STATUS "GPU ranks: off: ${missing}")
  return()
endif()

# The last one also as code that newer cards compile for themselves.
if(ENGRAM_NVCC_VERSION VERSION_GREATER_EQUAL 12.8)
  set(ENGRAM_CUDA_ARCHITECTURES 75-real 80-real 90-real 100)
else()
  set(ENGRAM_CUDA_ARCHITECTURES 75-real 80-real 90)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${ENGRAM_CUDA_ARCHITECTURES} CACHE STRING "GPU architectures")
set(CMAKE_CUDA_COMPILER ${ENGRAM_NVCC} CACHE FILEPATH "CUDA compiler")
enable_language(CUDA)
# CMake 3.25 does not know that nvcc speaks C++20, and refuses CMAKE_CXX_STANDARD for it.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit ${ENGRAM_CUDA_MIN} REQUIRED)

# nvcc takes other words for the rules of engram_compile, and what it puts around a kernel itself is not pedantic.
set(ENGRAM_CUDA_OPTIONS --fmad=false --ftz=false "-Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off")
if(ENGRAM_WERROR)
  list(APPEND ENGRAM_CUDA_OPTIONS --Werror=all-warnings -Xcompiler=-Werror)
endif()

add_library(engram_nccl UNKNOWN IMPORTED)
set_target_properties(engram_nccl PROPERTIES IMPORTED_LOCATION ${ENGRAM_NCCL_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${ENGRAM_NCCL_INCLUDE})
add_library(engram_cuda INTERFACE)
target_link_libraries(engram_cuda INTERFACE engram_nccl CUDA::cudart_static)
set(ENGRAM_WITH_CUDA ON)
message(STATUS "GPU ranks: on: nvcc ${ENGRAM_NVCC_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}, ${ENGRAM_NCCL_LIBRARY}")

# One folder, one target, one sentence. A module's tests stand beside its sources and make one program.
#
#   sentinel_module(outbox
#     SOURCES outbox.cc
#     DEPS sentinel_model
#     TESTS outbox_test.cc)
#
# makes the library sentinel_outbox and the test program outbox_test, whose cases ctest sees one by one. A module without
# SOURCES is header-only. APART are sources with properties of their own. TEST_DEPS are what only the tests need. LOOP says that its
# sources stand on Asio and JSON.
function(sentinel_module name)
  cmake_parse_arguments(arg "LOOP" "" "SOURCES;APART;DEPS;TESTS;TEST_DEPS" ${ARGN})
  set(target sentinel_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_APART})
    sentinel_sources(${target} ${arg_SOURCES})
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC ${arg_DEPS})
    sentinel_share_headers(${target} "${arg_LOOP}")
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} INTERFACE ${arg_DEPS})
  endif()
  if(arg_TESTS)
    set(loop)
    if(arg_LOOP)
      set(loop LOOP)
    endif()
    sentinel_test(${name}_test ${loop} SOURCES ${arg_TESTS} DEPS ${target} ${arg_TEST_DEPS})
  endif()
endfunction()

# The headers of others take half the time of a compilation, and in a small test most of it: GCC reads them once for all.
# (clang-tidy wants them plain, so a header that a source has forgotten is found there.)
set(SENTINEL_LIBRARY_HEADERS <algorithm> <array> <chrono> <deque> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <tl/expected.hpp>)
set(SENTINEL_LOOP_HEADERS <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
  <boost/asio/steady_timer.hpp> <nlohmann/json.hpp>)

function(sentinel_share_headers name loop)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(shared sentinel_library_headers)
  set(headers ${SENTINEL_LIBRARY_HEADERS})
  if(loop)
    set(shared sentinel_loop_headers)
    list(APPEND headers ${SENTINEL_LOOP_HEADERS})
  endif()
  if(NOT TARGET ${shared})
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${shared}.cc CONTENT "")
    add_library(${shared} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${shared}.cc)
    target_compile_options(${shared} PRIVATE -fpch-preprocess)
    target_precompile_headers(${shared} PRIVATE ${headers})
  endif()
  target_compile_options(${name} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow)
  target_precompile_headers(${name} REUSE_FROM ${shared})
endfunction()

# Half of what is compiled are tests, and a quarter of that time went into making them fast.
set(SENTINEL_TEST_OPTIMISATION $<$<CONFIG:Debug>:-O0>)

function(sentinel_share_test_headers name loop)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(shared sentinel_test_headers)
  set(headers <gmock/gmock.h> <gtest/gtest.h>)
  if(loop)
    set(shared sentinel_loop_test_headers)
    list(APPEND headers ${SENTINEL_LIBRARY_HEADERS} ${SENTINEL_LOOP_HEADERS})
  endif()
  if(NOT TARGET ${shared})
    # A program, because its position-independent code is that of the tests, which are programs too.
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${shared}.cc CONTENT "int main() {}\n")
    add_executable(${shared} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${shared}.cc)
    target_link_libraries(${shared} PRIVATE GTest::gmock)
    target_compile_options(${shared} PRIVATE ${SENTINEL_TEST_OPTIMISATION} -fpch-preprocess)
    target_precompile_headers(${shared} PRIVATE ${headers})
  endif()
  # Headers read this way are no longer the system's to the optimiser, which warns of what std::string does.
  target_compile_options(${name} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow)
  target_precompile_headers(${name} REUSE_FROM ${shared})
endfunction()

# A GoogleTest program. LABELS mark what needs more than packages (kernel, browser, gpu); ENVIRONMENT takes NAME=set:value.
# ALONE names what its cases share with those of other programs that name it too: of all these one runs at a time. It is for what
# measures seconds of wall clock. LOOP as in sentinel_module.
function(sentinel_test name)
  cmake_parse_arguments(arg "LOOP" "TIMEOUT;ALONE" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name})
  sentinel_sources(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${SENTINEL_TEST_OPTIMISATION})
  sentinel_share_test_headers(${name} "${arg_LOOP}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(shared "$ENV{SENTINEL_SHARED}")
  if(NOT shared)
    set(shared "${CMAKE_SOURCE_DIR}/../shared")
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "SENTINEL_SHARED=${shared}")
  if(arg_ALONE)
    list(APPEND properties RESOURCE_LOCK ${arg_ALONE})
  endif()
  foreach(variable IN LISTS arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT_MODIFICATION "${variable}")
  endforeach()
  # What .ci/run repeats under AddressSanitizer: everything that decides, reads foreign bytes, or lives in a training process.
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(room MATCHES "^(src/(base|model|board|wire|progress|correlate|incident|outbox|floor|probe|speech|config|signature|http|web|ctl)|plugin)")
    list(APPEND arg_LABELS sanitized)
    add_dependencies(sanitized_tests ${name})
  endif()
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
endfunction()

add_custom_target(sanitized_tests)

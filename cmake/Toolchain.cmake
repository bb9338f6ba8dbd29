# How everything is compiled: the language, the warnings, the sanitizer of the preset, the compiler cache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON) # TRY is a GNU statement expression
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(SENTINEL_BENCH "Build the benchmarks (bench/)" OFF)
option(SENTINEL_FUZZ "Build the fuzzers (fuzz/); needs Clang" OFF)
option(SENTINEL_TIDY "Run clang-tidy while compiling" OFF)
set(SENTINEL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them (address,undefined or thread)")

add_compile_options(-Wall -Wextra -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees phantom overreads in inlined std::string code at -O2.
  add_compile_options(-Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized)
endif()

if(SENTINEL_SANITIZE)
  add_compile_options(-fsanitize=${SENTINEL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SENTINEL_SANITIZE})
  if(SENTINEL_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio has fences, which GCC's ThreadSanitizer does not see: no reason to stop, reports would show it.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(SENTINEL_FUZZ)
  # Everything, not the fuzzers alone: what a fuzzer cannot see being reached it does not look for.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(SENTINEL_TIDY)
  find_program(CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${CLANG_TIDY};--quiet")
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT SENTINEL_TIDY)
  # Relative paths and no directory in the hash: a second clone or worktree hits the first one's cache. What it has to overlook
  # is what precompiled headers bring with them; each of these is 200 MB, and hashed once.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=true
    CCACHE_DEPEND=true CCACHE_INODECACHE=true CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# How a room becomes a library and its tests a program. A room's CMakeLists.txt is one call.

# headwater_room(NAME SOURCES... [USES libs...]): static library headwater_NAME of the sources.
function(headwater_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_library(headwater_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(headwater_${name} PUBLIC ${ARG_USES} PRIVATE headwater_warnings)
  target_include_directories(headwater_${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

# headwater_test(NAME SOURCES... [USES libs...]): GoogleTest program NAME_tests, one ctest entry a test.
# Where the checkout and the shared material are, a test asks tests/folders.hpp.
function(headwater_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;USES;LABELS" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1200) # room for sanitizers; nothing is slow in the release build
  endif()
  add_executable(${name}_tests ${ARG_SOURCES})
  target_link_libraries(${name}_tests PRIVATE ${ARG_USES} headwater_test_folders GTest::gtest GTest::gtest_main headwater_warnings)
  # What is tested is built as it ships; the tests themselves are built fast (checks for undefined behaviour cost a
  # third of a test file's compile time).
  target_compile_options(${name}_tests PRIVATE -O0)
  if(CMAKE_CXX_FLAGS MATCHES "undefined")
    target_compile_options(${name}_tests PRIVATE -fno-sanitize=undefined)
  endif()
  gtest_discover_tests(${name}_tests TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${name}")
endfunction()

# headwater_fuzzer(NAME SOURCE [USES libs...]): libFuzzer target fuzz_NAME in the fuzz preset; elsewhere a
# program that replays tests/fuzz/corpus/NAME once, as the plain test fuzz_replay.NAME.
function(headwater_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  if(HEADWATER_FUZZERS)
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE ${ARG_USES} headwater_warnings)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(fuzz_${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    target_link_libraries(fuzz_${name} PRIVATE ${ARG_USES} headwater_warnings)
    add_test(NAME fuzz_replay.${name}
      COMMAND fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(fuzz_replay.${name} PROPERTIES LABELS fuzz_replay TIMEOUT 120)
  endif()
endfunction()

# headwater_bench(NAME SOURCES... [USES libs...]): Google Benchmark program bench_NAME, run by ./test --bench.
function(headwater_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(bench_${name} PRIVATE ${ARG_USES} benchmark::benchmark headwater_warnings)
endfunction()

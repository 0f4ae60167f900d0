# Test programs and fuzz targets.
#
# tests/unit/**/test_*.c each become one cmocka program and one ctest test named after the file.
# What several of them share is tests/support/*.c.
# tests/wire/run_*.c are tests, too; what they share is tests/wire/wire_*.c.
# Tests link the library's objects rather than the library, so that hidden functions can be called,
# and run in the source root, so that case files are found by their path in the tree.
# tests/hdr/hist_tool.c writes and reads histograms for tests/e2e/test_hist_wire.py.
# tests/fuzz/fuzz_*.c each become a fuzz target; what they share is tests/fuzz/support/*.c.
# A test that includes <pthread.h> carries the label "threads": those run under ThreadSanitizer too.

# rv_add_test(NAME SOURCE…)
function(rv_add_test name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
    rv_program_flags(${name})
    # assert() stays alive in tests, whatever the build type says.
    target_compile_options(${name} PRIVATE -UNDEBUG)
    target_include_directories(${name} PRIVATE tests)
    target_link_libraries(${name} PRIVATE test_support rivulet_objects PkgConfig::cmocka m)
    rv_link_as_users_do(${name})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        TIMEOUT 300)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
    foreach(source IN LISTS ARGN)
        file(STRINGS ${source} uses_threads REGEX "^#include <pthread\\.h>" LIMIT_COUNT 1)
        if(uses_threads)
            set_tests_properties(${name} PROPERTIES LABELS threads)
        endif()
    endforeach()
endfunction()

function(rv_add_tests)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

    # An archive, so that each test takes from it what it uses.
    file(GLOB test_support CONFIGURE_DEPENDS tests/support/*.c)
    if(NOT rv_tls)
        list(FILTER test_support EXCLUDE REGEX "/tls_[a-z]+\\.c$")
    endif()
    if(NOT rv_http2)
        list(FILTER test_support EXCLUDE REGEX "/h2_[a-z]+\\.c$")
    endif()
    add_library(test_support STATIC ${test_support})
    rv_program_flags(test_support)
    target_compile_options(test_support PRIVATE -UNDEBUG)
    target_include_directories(test_support PRIVATE include src tests)
    target_link_libraries(test_support PRIVATE PkgConfig::cmocka ${rv_tls_libraries}
        ${rv_codings_libraries})
    # What was compressed with brotli is read by its other half.
    if(rv_brotli)
        pkg_check_modules(brotli_decoder REQUIRED IMPORTED_TARGET libbrotlidec)
        target_link_libraries(test_support PRIVATE PkgConfig::brotli_decoder)
    endif()

    file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS tests/unit/test_*.c)
    if(NOT rv_tls)
        list(FILTER unit_sources EXCLUDE REGEX "/test_tls_[a-z]+\\.c$")
    endif()
    if(NOT rv_http2)
        list(FILTER unit_sources EXCLUDE REGEX "/test_h2(_[a-z_]+)?\\.c$")
    endif()
    if(NOT (rv_gzip AND rv_brotli AND rv_zstd))
        list(FILTER unit_sources EXCLUDE REGEX "/test_(h2_)?compress[a-z_]*\\.c$")
    endif()
    foreach(source IN LISTS unit_sources)
        cmake_path(GET source STEM name)
        rv_add_test(${name} ${source})
        if(source MATCHES "/unit/(load|report)/")
            target_link_libraries(${name} PRIVATE rivulet_instrument)
        elseif(source MATCHES "/unit/cli/")
            target_link_libraries(${name} PRIVATE rivulet_command)
        endif()
    endforeach()

    # Memory runs out when this one says so.
    if(TARGET test_compress_memory)
        target_link_options(test_compress_memory PRIVATE
            LINKER:--wrap=malloc LINKER:--wrap=calloc LINKER:--wrap=realloc)
    endif()

    file(GLOB wire_runners CONFIGURE_DEPENDS tests/wire/run_*.c)
    file(GLOB wire_sources CONFIGURE_DEPENDS tests/wire/wire_*.c)
    foreach(source IN LISTS wire_runners)
        cmake_path(GET source STEM name)
        rv_add_test(${name} ${source} ${wire_sources})
        target_link_libraries(${name} PRIVATE PkgConfig::jansson)
    endforeach()

    # What is said of files, of the same ones as assets and of one as rv_file has it.
    foreach(root assets file)
        add_test(NAME run_wire_${root} COMMAND run_wire --${root})
        set_tests_properties(run_wire_${root} PROPERTIES
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
            TIMEOUT 300)
    endforeach()
    if(rv_tls)
        add_test(NAME run_wire_tls COMMAND run_wire --tls)
        set_tests_properties(run_wire_tls PROPERTIES
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
            TIMEOUT 300)
    endif()

    add_executable(hist_tool tests/hdr/hist_tool.c)
    rv_program_flags(hist_tool)
    set_target_properties(hist_tool PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tests)
    target_link_libraries(hist_tool PRIVATE rivulet_instrument)
endfunction()

function(rv_add_fuzz_targets)
    # An archive, so that each target takes from it what it uses.
    file(GLOB fuzz_support CONFIGURE_DEPENDS tests/fuzz/support/*.c)
    add_library(fuzz_support STATIC ${fuzz_support})
    rv_program_flags(fuzz_support)
    target_include_directories(fuzz_support PRIVATE include src tests)
    # Memory runs out when a target says so (support/memory.h).
    target_link_options(fuzz_support INTERFACE
        LINKER:--wrap=malloc LINKER:--wrap=calloc LINKER:--wrap=realloc)
    # The search is led by what the server does, not by those who judge it.
    set(judges ${fuzz_support})
    list(FILTER judges EXCLUDE REGEX "/(app|disk|forms|jobs|label|pool_app|verbs)\\.c$")
    set_source_files_properties(${judges} PROPERTIES COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)

    file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
    if(NOT rv_tls)
        list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_tls\\.c$")
    endif()
    if(NOT rv_http2)
        list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_h2(_[a-z]+)?\\.c$")
    endif()
    foreach(source IN LISTS fuzz_sources)
        cmake_path(GET source STEM name)
        add_executable(${name} ${source})
        rv_program_flags(${name})
        target_include_directories(${name} PRIVATE tests)
        target_link_libraries(${name} PRIVATE fuzz_support rivulet_instrument rivulet_objects)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
endfunction()

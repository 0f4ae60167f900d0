# How everything is compiled and linked: language, warnings, sanitizers, coverage, optimization
# across files. Each target of the project passes through rv_program_flags(); nothing is set
# globally, so that a program which builds rivulet as a subdirectory keeps its own flags.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(rv_compile_options
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion
    $<$<BOOL:${RV_WERROR}>:-Werror>)
set(rv_link_options "")

if(RV_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "RV_FUZZ needs clang: libFuzzer is part of it")
    endif()
    list(APPEND rv_compile_options -fsanitize=fuzzer-no-link)
endif()

string(REPLACE ";" "," rv_sanitizers "${RV_SANITIZE}")
if(rv_sanitizers AND NOT rv_sanitizers STREQUAL "none")
    list(APPEND rv_compile_options
        -fsanitize=${rv_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    list(APPEND rv_link_options -fsanitize=${rv_sanitizers})
endif()

if(RV_COVERAGE)
    list(APPEND rv_compile_options --coverage -fprofile-update=atomic)
    list(APPEND rv_link_options --coverage)
endif()

function(rv_program_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS ON)
    target_compile_options(${target} PRIVATE ${rv_compile_options})
    target_compile_definitions(${target} PRIVATE
        _GNU_SOURCE $<$<BOOL:${rv_tls}>:RV_WITH_TLS> $<$<BOOL:${rv_http2}>:RV_WITH_HTTP2>
        $<$<BOOL:${rv_gzip}>:RV_WITH_GZIP> $<$<BOOL:${rv_brotli}>:RV_WITH_BROTLI>
        $<$<BOOL:${rv_zstd}>:RV_WITH_ZSTD>
        "RV_VERSION_TEXT=\"${PROJECT_VERSION}\"")
    target_link_options(${target} PRIVATE ${rv_link_options})
endfunction()

# gcc can write machine code beside its intermediate form ("fat" objects), so librivulet.a serves
# both an optimizing link and a plain one. clang's archives would serve only clang: there the option
# does nothing. Tests and examples are linked plainly: it is quick, and it is what most users do.
if(RV_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(rv_lto ON)
else()
    set(rv_lto OFF)
endif()

function(rv_optimize_across_files_compile target)
    if(rv_lto)
        target_compile_options(${target} PRIVATE -flto=auto -ffat-lto-objects)
    endif()
endfunction()

function(rv_optimize_across_files_link target)
    if(rv_lto)
        target_link_options(${target} PRIVATE -flto=auto)
    endif()
endfunction()

function(rv_link_as_users_do target)
    if(rv_lto)
        target_link_options(${target} PRIVATE -fno-lto)
    endif()
endfunction()

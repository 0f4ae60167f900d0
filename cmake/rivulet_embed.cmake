# rivulet_embed(TARGET FOLDER [NAME name])
#
# Makes the files below FOLDER part of TARGET: a table of rv_asset, `name`_assets, with
# `name`_assets_count entries, declared in "`name`_assets.h", for rv_assets(). Without NAME it is the
# folder's own. Names that begin with a dot are left out, but for .well-known. The same files give the
# same table; where SOURCE_DATE_EPOCH is set, no modification time is later than that.
#
# Run as a script (cmake -P) it is also what writes the table, at build time.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    file(STRINGS ${output}.files files)
    set(labels "")
    set(declarations "")
    set(entries "")
    set(index 0)
    foreach(path IN LISTS files)
        set(file ${folder}/${path})
        file(SIZE ${file} size)
        file(SHA256 ${file} digest)
        string(SUBSTRING ${digest} 0 32 digest)
        file(TIMESTAMP ${file} modified %s UTC)
        if(DEFINED ENV{SOURCE_DATE_EPOCH} AND modified GREATER "$ENV{SOURCE_DATE_EPOCH}")
            set(modified $ENV{SOURCE_DATE_EPOCH})
        endif()
        set(label ${name}_assets_octets_${index})
        string(APPEND labels
            "        \".globl ${label}\\n.hidden ${label}\\n${label}:\\n\"\n"
            "        \".incbin \\\"${file}\\\"\\n.byte 0\\n\"\n")
        string(APPEND declarations "extern const char ${label}[];\n")
        string(APPEND entries
            "    {\"${path}\", ${label}, ${size}, 0, \"\\\"${digest}\\\"\", ${modified}},\n")
        math(EXPR index "${index} + 1")
    endforeach()
    file(WRITE ${output}.h
        "/* Made by rivulet_embed. */\n#include <rivulet.h>\n\n"
        "extern const rv_asset ${name}_assets[];\nextern const size_t ${name}_assets_count;\n")
    file(WRITE ${output}.c
        "/* Made by rivulet_embed. */\n#include \"${name}_assets.h\"\n\n"
        "__asm__(\".pushsection .rodata\\n\"\n${labels}        \".popsection\\n\");\n\n"
        "${declarations}\n"
        "const rv_asset ${name}_assets[] = {\n${entries}    {0}, /* not counted */\n};\n"
        "const size_t ${name}_assets_count = ${index};\n")
    return()
endif()

set(rivulet_embed_script ${CMAKE_CURRENT_LIST_FILE})

function(rivulet_embed target folder)
    cmake_parse_arguments(PARSE_ARGV 2 embed "" "NAME" "")
    cmake_path(ABSOLUTE_PATH folder NORMALIZE)
    string(REGEX REPLACE "/+$" "" folder ${folder})
    if(NOT IS_DIRECTORY ${folder})
        message(FATAL_ERROR "rivulet_embed: there is no folder ${folder}")
    endif()
    if(NOT embed_NAME)
        cmake_path(GET folder FILENAME embed_NAME)
        string(MAKE_C_IDENTIFIER ${embed_NAME} embed_NAME)
    endif()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*)
    list(SORT files)
    foreach(path IN LISTS files)
        if(path MATCHES "(^|/)\\." AND NOT path MATCHES "^\\.well-known/[^.]")
            list(REMOVE_ITEM files "${path}")
            continue()
        endif()
        if(path MATCHES "[\"\\\\\n]" OR NOT EXISTS ${folder}/${path})
            message(FATAL_ERROR
                "rivulet_embed: ${path} cannot be embedded: its name has a quote, a backslash, a "
                "semicolon or a line break")
        endif()
    endforeach()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded/${embed_NAME}_assets)
    list(TRANSFORM files PREPEND ${folder}/ OUTPUT_VARIABLE depends)
    # Written anew, and so the table, only when other files are there.
    list(JOIN files "\n" lines)
    file(CONFIGURE OUTPUT ${output}.files CONTENT "@lines@\n" @ONLY)
    add_custom_command(
        OUTPUT ${output}.c ${output}.h
        COMMAND ${CMAKE_COMMAND} -D "folder=${folder}" -D name=${embed_NAME}
            -D "output=${output}" -P ${rivulet_embed_script}
        DEPENDS ${depends} ${output}.files ${rivulet_embed_script}
        COMMENT "Embedding ${folder}"
        VERBATIM)
    target_sources(${target} PRIVATE ${output}.c ${output}.h)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
endfunction()

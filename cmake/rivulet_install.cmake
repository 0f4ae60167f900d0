# What `cmake --install` puts in place: header, both libraries, the command, the pkg-config file,
# the CMake package, man pages and the licence. The result can be moved: nothing in it names its
# prefix.
include(CMakePackageConfigHelpers)

install(FILES include/rivulet.h TYPE INCLUDE)
install(TARGETS rivulet_static rivulet_shared EXPORT rivulet_targets)
if(TARGET rivulet)
    install(TARGETS rivulet)
endif()
install(FILES LICENSE TYPE DOC)

# The intermediate code in a fat archive fits one compiler version only; what leaves the build tree
# is machine code alone.
if(rv_lto)
    install(CODE "
        execute_process(
            COMMAND \"${CMAKE_OBJCOPY}\" --wildcard --remove-section=.gnu.lto_*
                --remove-section=.gnu.debuglto_* --strip-symbol=__gnu_lto_v1
                \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/librivulet.a\"
            COMMAND_ERROR_IS_FATAL ANY)")
endif()

# ---- pkg-config --------------------------------------------------------------------------------
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig
    ${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
string(JOIN ", " rv_requires_private ${rv_tls_pkgconfig} ${rv_http2_pkgconfig}
    ${rv_codings_pkgconfig})
configure_file(packaging/rivulet.pc.in rivulet.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rivulet.pc DESTINATION ${pkgconfig_dir})

# ---- CMake package -----------------------------------------------------------------------------
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rivulet)
configure_package_config_file(packaging/rivuletConfig.cmake.in rivuletConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(rivuletConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/rivuletConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/rivuletConfigVersion.cmake
    cmake/rivulet_embed.cmake
    DESTINATION ${package_dir})
install(EXPORT rivulet_targets NAMESPACE rivulet:: FILE rivuletTargets.cmake
    DESTINATION ${package_dir})

# ---- man pages ---------------------------------------------------------------------------------
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.[137])
foreach(page IN LISTS man_pages)
    string(REGEX MATCH "[137]$" section ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

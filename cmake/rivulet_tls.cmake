# Whether there is TLS, and what that needs: rv_tls, rv_tls_libraries, and for pkg-config and the CMake
# package of an installed archive rv_tls_pkgconfig and rv_tls_dependency. Where RV_TLS was not asked for
# by name, a machine without OpenSSL gets a library without it, whose TLS calls say so.
set(rv_tls OFF)
set(rv_tls_libraries "")
set(rv_tls_pkgconfig "")
set(rv_tls_dependency "")
if(RV_TLS)
    find_package(OpenSSL 3.0 QUIET)
    if(OpenSSL_FOUND)
        set(rv_tls ON)
        set(rv_tls_libraries OpenSSL::SSL OpenSSL::Crypto)
        set(rv_tls_pkgconfig "libssl >= 3.0, libcrypto")
        set(rv_tls_dependency "find_dependency(OpenSSL 3.0)")
    else()
        message(STATUS "OpenSSL 3 was not found: building without TLS")
    endif()
endif()

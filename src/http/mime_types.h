/*
 * The media types that a web server meets, by extension: one list, sorted by extension as strcmp
 * sorts, because it is searched by halving. The types are those registered with IANA where there is
 * one; text types say UTF-8, since without a charset a client guesses. Formats that name their
 * encoding themselves (XML, SVG) or have just one (JSON, RFC 8259 section 8.1) get none.
 */
#ifndef RV_HTTP_MIME_TYPES_H
#define RV_HTTP_MIME_TYPES_H

#define RV_MIME_TYPES(X)                                                                           \
    X("7z", "application/x-7z-compressed")                                                         \
    X("aac", "audio/aac")                                                                          \
    X("apng", "image/apng")                                                                        \
    X("atom", "application/atom+xml")                                                              \
    X("avi", "video/x-msvideo")                                                                    \
    X("avif", "image/avif")                                                                        \
    X("bin", "application/octet-stream")                                                           \
    X("bmp", "image/bmp")                                                                          \
    X("br", "application/octet-stream")                                                            \
    X("bz2", "application/x-bzip2")                                                                \
    X("cjs", "text/javascript; charset=UTF-8")                                                     \
    X("css", "text/css; charset=UTF-8")                                                            \
    X("csv", "text/csv; charset=UTF-8")                                                            \
    X("deb", "application/vnd.debian.binary-package")                                              \
    X("doc", "application/msword")                                                                 \
    X("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")           \
    X("eot", "application/vnd.ms-fontobject")                                                      \
    X("epub", "application/epub+zip")                                                              \
    X("flac", "audio/flac")                                                                        \
    X("geojson", "application/geo+json")                                                           \
    X("gif", "image/gif")                                                                          \
    X("gz", "application/gzip")                                                                    \
    X("htm", "text/html; charset=UTF-8")                                                           \
    X("html", "text/html; charset=UTF-8")                                                          \
    X("ico", "image/vnd.microsoft.icon")                                                           \
    X("ics", "text/calendar; charset=UTF-8")                                                       \
    X("jar", "application/java-archive")                                                           \
    X("jpeg", "image/jpeg")                                                                        \
    X("jpg", "image/jpeg")                                                                         \
    X("js", "text/javascript; charset=UTF-8")                                                      \
    X("json", "application/json")                                                                  \
    X("jsonld", "application/ld+json")                                                             \
    X("jxl", "image/jxl")                                                                          \
    X("m3u8", "application/vnd.apple.mpegurl")                                                     \
    X("m4a", "audio/mp4")                                                                          \
    X("m4v", "video/mp4")                                                                          \
    X("map", "application/json")                                                                   \
    X("md", "text/markdown; charset=UTF-8")                                                        \
    X("mid", "audio/midi")                                                                         \
    X("mjs", "text/javascript; charset=UTF-8")                                                     \
    X("mov", "video/quicktime")                                                                    \
    X("mp3", "audio/mpeg")                                                                         \
    X("mp4", "video/mp4")                                                                          \
    X("mpd", "application/dash+xml")                                                               \
    X("mpeg", "video/mpeg")                                                                        \
    X("mpg", "video/mpeg")                                                                         \
    X("odp", "application/vnd.oasis.opendocument.presentation")                                    \
    X("ods", "application/vnd.oasis.opendocument.spreadsheet")                                     \
    X("odt", "application/vnd.oasis.opendocument.text")                                            \
    X("oga", "audio/ogg")                                                                          \
    X("ogg", "audio/ogg")                                                                          \
    X("ogv", "video/ogg")                                                                          \
    X("opus", "audio/ogg")                                                                         \
    X("otf", "font/otf")                                                                           \
    X("pdf", "application/pdf")                                                                    \
    X("png", "image/png")                                                                          \
    X("ppt", "application/vnd.ms-powerpoint")                                                      \
    X("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation")         \
    X("ps", "application/postscript")                                                              \
    X("rss", "application/rss+xml")                                                                \
    X("rtf", "application/rtf")                                                                    \
    X("sh", "application/x-sh")                                                                    \
    X("svg", "image/svg+xml")                                                                      \
    X("tar", "application/x-tar")                                                                  \
    X("tif", "image/tiff")                                                                         \
    X("tiff", "image/tiff")                                                                        \
    X("ts", "video/mp2t")                                                                          \
    X("ttf", "font/ttf")                                                                           \
    X("txt", "text/plain; charset=UTF-8")                                                          \
    X("vtt", "text/vtt; charset=UTF-8")                                                            \
    X("wasm", "application/wasm")                                                                  \
    X("wav", "audio/wav")                                                                          \
    X("webm", "video/webm")                                                                        \
    X("webmanifest", "application/manifest+json")                                                  \
    X("webp", "image/webp")                                                                        \
    X("woff", "font/woff")                                                                         \
    X("woff2", "font/woff2")                                                                       \
    X("xhtml", "application/xhtml+xml")                                                            \
    X("xls", "application/vnd.ms-excel")                                                           \
    X("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")                 \
    X("xml", "application/xml")                                                                    \
    X("xz", "application/x-xz")                                                                    \
    X("zip", "application/zip")                                                                    \
    X("zst", "application/zstd")

#endif

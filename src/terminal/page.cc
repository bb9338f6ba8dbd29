#include "terminal/page.h"

#include <string>

// The assembler puts the files in as they are; there is nothing to generate and nothing to escape.
#define SENTINEL_EMBED(name, file)               \
  asm(".pushsection .rodata\n"                   \
      ".global sentinel_page_" #name             \
      "\n"                                       \
      ".global sentinel_page_" #name             \
      "_end\n"                                   \
      "sentinel_page_" #name                     \
      ":\n"                                      \
      ".incbin \"" SENTINEL_TERMINAL_UI "/" file \
      "\"\n"                                     \
      "sentinel_page_" #name                     \
      "_end:\n"                                  \
      ".byte 0\n"                                \
      ".popsection\n");                          \
  extern "C" const char sentinel_page_##name[];  \
  extern "C" const char sentinel_page_##name##_end[]

SENTINEL_EMBED(html, "index.html");
SENTINEL_EMBED(css, "terminal.css");
SENTINEL_EMBED(js, "terminal.js");

namespace sentinel {
namespace {

HttpResponse File(const char* begin, const char* end, const char* type) {
  HttpResponse response;
  response.content_type = type;
  response.body = std::string(begin, end);
  response.headers["Cache-Control"] = "no-cache";
  response.headers["X-Content-Type-Options"] = "nosniff";
  response.headers["Referrer-Policy"] = "no-referrer";
  // Nothing from elsewhere, nothing inline, in nobody's frame.
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src "
      "'self' blob:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors "
      "'none'";
  return response;
}

}  // namespace

std::optional<HttpResponse> PageFile(std::string_view path) {
  if (path == "/") {
    return File(sentinel_page_html, sentinel_page_html_end, "text/html; charset=utf-8");
  }
  if (path == "/terminal.css") {
    return File(sentinel_page_css, sentinel_page_css_end, "text/css; charset=utf-8");
  }
  if (path == "/terminal.js") {
    return File(sentinel_page_js, sentinel_page_js_end, "text/javascript; charset=utf-8");
  }
  return std::nullopt;
}

}  // namespace sentinel

# Writes OUTPUT, a C++ source that holds the report's files as strings. Called by the build:
#   cmake -DOUTPUT=assets.cc -DPAGE_DIR=tools/report -DVEGA_PARTS="a.js;b.js" -P embed.cmake

# An HTML parser ends a script at "</script" and changes its state at "<!--", wherever they stand. In a
# JavaScript string "<\/" is "</".
function(make_safe_in_script variable)
  set(text "${${variable}}")
  string(REPLACE "</script" "<\\/script" text "${text}")
  string(REPLACE "<!--" "<\\!--" text "${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(append_string name text)
  if("${text}" MATCHES "\\)longhaul\"")
    message(FATAL_ERROR "${name} contains the delimiter of its string")
  endif()
  file(APPEND ${OUTPUT} "const std::string_view ${name} = R\"longhaul(")
  file(APPEND ${OUTPUT} "${text}")
  file(APPEND ${OUTPUT} ")longhaul\";\n")
endfunction()

# Each part of Vega is an AMD module; this is the little of AMD that they need.
set(vega [[
var vega = (function () {
  var modules = {}, name;
  function define(needs, factory) {
    var exports = modules[name] = {};
    factory.apply({}, needs.map(function (need) {
      if (need === "exports") return exports;
      if (!modules[need]) throw new Error(name + " needs " + need);
      return modules[need];
    }));
  }
  define.amd = {};
  var exports, module;
]])
foreach(file IN LISTS VEGA_PARTS)
  get_filename_component(part ${file} NAME)
  string(REPLACE ".min.js" "" part ${part})
  if(part STREQUAL "vega-selection")
    set(part "vega-selections")  # what the others call it
  endif()
  file(READ ${file} text)
  string(REGEX REPLACE "//# sourceMappingURL=[^\n]*" "" text "${text}")
  string(APPEND vega "name = \"${part}\";\n" "${text}" "\n")
endforeach()
string(APPEND vega [[
  Object.assign(modules["vega-dataflow"].transforms, modules["vega-transforms"],
                modules["vega-view-transforms"], modules["vega-encode"]);
  return { View: modules["vega-view"].View, parse: modules["vega-parser"].parse };
})();
]])
make_safe_in_script(vega)

file(READ ${PAGE_DIR}/template.html template)
file(READ ${PAGE_DIR}/report.css style)
file(READ ${PAGE_DIR}/report.js script)
make_safe_in_script(script)

file(WRITE ${OUTPUT} "#include \"tools/report/assets.h\"\n\nnamespace longhaul::report {\n\n")
append_string(kTemplate "${template}")
append_string(kStyle "${style}")
append_string(kScript "${script}")
append_string(kVega "${vega}")
file(APPEND ${OUTPUT} "\n}  // namespace longhaul::report\n")

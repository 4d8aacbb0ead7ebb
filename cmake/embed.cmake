# embed_circuits(TARGET): circuits/*.circuit as one table {name, text} in a generated source of the target, which is made
# again when one of them changes.
# As a script (cmake -DOUT=... -DFOLDER=... -P embed.cmake) it writes that source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB circuits ${FOLDER}/*.circuit)
  list(SORT circuits)
  set(rows "")
  foreach(path ${circuits})
    get_filename_component(name ${path} NAME)
    file(READ ${path} text)
    string(APPEND rows "    {\"circuits/${name}\", R\"~~~~(${text})~~~~\"},\n")
  endforeach()
  set(text "// Made by cmake/embed.cmake from circuits/*.circuit.\n#include \"circuit/library.h\"\n\nnamespace etch {\nnamespace {\n\n")
  string(APPEND text "constexpr EmbeddedCircuit kCircuits[] = {\n${rows}};\n\n}  // namespace\n\n")
  string(APPEND text "std::span<const EmbeddedCircuit> embedded_circuits() { return kCircuits; }\n\n}  // namespace etch\n")
  file(WRITE ${OUT} "${text}")
  return()
endif()

set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(embed_circuits target)
  set(folder ${CMAKE_SOURCE_DIR}/circuits)
  file(GLOB circuits CONFIGURE_DEPENDS ${folder}/*.circuit)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_circuits.cc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFOLDER=${folder} -P ${EMBED_SCRIPT}
    DEPENDS ${circuits} ${EMBED_SCRIPT}
    COMMENT "Embedding circuits")
  target_sources(${target} PRIVATE ${out})
endfunction()

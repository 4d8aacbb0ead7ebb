# etch_program(SOURCES file... LAYERS layer... LIBRARIES name...): lib/etch/program.o, all that a program of `etch compile --exe`
# has beside its model: the sources and what they need of the layers, of static libraries and of C++'s own, linked into one
# object, so that a C compiler makes a program of it that needs libc and libm alone.
function(etch_program)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LAYERS;LIBRARIES" ${ARGN})
  add_library(etch_program_code OBJECT ${PROGRAM_SOURCES})
  set(archives "")
  foreach(layer ${PROGRAM_LAYERS})
    target_link_libraries(etch_program_code PRIVATE etch_${layer})
    list(APPEND archives $<TARGET_FILE:etch_${layer}>)
  endforeach()
  foreach(name ${PROGRAM_LIBRARIES})
    find_library(STATIC_${name} lib${name}.a REQUIRED)
    list(APPEND archives ${STATIC_${name}})
  endforeach()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE cxx OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(object ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/program.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object} $<TARGET_OBJECTS:etch_program_code> --start-group ${archives} ${cxx} --end-group
    DEPENDS etch_program_code $<TARGET_OBJECTS:etch_program_code> ${archives} COMMAND_EXPAND_LISTS
    COMMENT "Linking program.o")
  add_custom_target(etch_program DEPENDS ${object})
  install(FILES ${object} DESTINATION lib/etch)
endfunction()

# Of what a compiler reads and instantiates for one small file, most belongs to headers that its neighbours need as well. Files of
# one target are compiled together, a few at a time, which makes a cold build two or three times quicker; -DSENTINEL_BATCHES=OFF
# compiles each alone, as the clang preset does, where a header that a file has forgotten is found.
# docs/decisions/small-files-compiled-together.md
option(SENTINEL_BATCHES "Compile the files of a target several at a time" ON)
set(SENTINEL_BATCH_SIZE 8)

# Gives `target` these files of the current folder.
function(sentinel_sources target)
  list(LENGTH ARGN count)
  if(NOT SENTINEL_BATCHES OR count EQUAL 1)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  # As many as are needed, and all of one size.
  math(EXPR batches "(${count} + ${SENTINEL_BATCH_SIZE} - 1) / ${SENTINEL_BATCH_SIZE}")
  foreach(batch RANGE 1 ${batches})
    math(EXPR first "${count} * (${batch} - 1) / ${batches}")
    math(EXPR size "${count} * ${batch} / ${batches} - ${first}")
    list(SUBLIST ARGN ${first} ${size} files)
    set(includes)
    foreach(file IN LISTS files)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      string(APPEND includes "#include \"${path}\"\n")
    endforeach()
    set(together ${CMAKE_CURRENT_BINARY_DIR}/batches/${target}_${batch}.cc)
    file(CONFIGURE OUTPUT ${together} CONTENT "${includes}" @ONLY)
    target_sources(${target} PRIVATE ${together})
  endforeach()
  # Without the place of the clone in them, so that a second one finds the first one's compilations.
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

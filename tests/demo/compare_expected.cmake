# Writes expected.json anew and compares it with the one that is checked in.
execute_process(COMMAND ${PYTHON} ${SOURCE}/make_demo.py --expected ${OUT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${SOURCE}/expected.json ${OUT} RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "demo/expected.json is old: run demo/make_demo.py --expected demo/expected.json")
endif()

# Build-wide choices as interface targets: link opguard_options privately to take them.
include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(OPGUARD_CCACHE ccache)
if(OPGUARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OPGUARD_CCACHE})
endif()

add_library(opguard_options INTERFACE)
target_compile_features(opguard_options INTERFACE cxx_std_20)
target_compile_options(opguard_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
# GCC 12 warns of overlaps that cannot be (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(opguard_options INTERFACE -Wno-restrict)
endif()
if(OPGUARD_DEVELOPER_MODE)
  target_compile_options(opguard_options INTERFACE -Werror)
endif()
if(OPGUARD_SANITIZE)
  list(JOIN OPGUARD_SANITIZE "," opguard_sanitizers)
  target_compile_options(opguard_options INTERFACE -fsanitize=${opguard_sanitizers}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(opguard_options INTERFACE -fsanitize=${opguard_sanitizers})
endif()

# opguard_unit_test(NAME SOURCES... LIBS...): one doctest binary, one CTest entry, label "unit".
function(opguard_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/doctest_main.cc)
  target_link_libraries(${name} PRIVATE opguard_options doctest::doctest ${ARG_LIBS})
  target_compile_definitions(${name} PRIVATE OPGUARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()

# opguard_python_test(NAME LABEL file.py...): pytest files as one CTest entry, in the interpreter
# OPGUARD_PYTHON and with the server and a capture library of this build. Skipped visibly without
# an interpreter.
function(opguard_python_test name label)
  if(OPGUARD_PYTHON)
    set(command ${OPGUARD_PYTHON} -m pytest -q -ra -p no:cacheprovider ${ARGN})
  else()
    set(command sh -c "echo 'skipped: OPGUARD_PYTHON is not set'; exit 5")
  endif()
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  # 5: pytest found nothing to run.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 1200 SKIP_RETURN_CODE 5
    ENVIRONMENT "${OPGUARD_TEST_ENVIRONMENT}")
  if(label STREQUAL "torch")
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED capture_library)
  endif()
endfunction()
set(OPGUARD_TEST_ENVIRONMENT "OPGUARD_CACHE=${CMAKE_BINARY_DIR}/cache;PYTHONDONTWRITEBYTECODE=1")

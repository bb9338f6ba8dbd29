# What is installed where, and the Debian packages made of it: gpu-sentinel-agent, -gateway, -terminal, -tools.
#
# Programs name their component where they are made (apps/, plugin/nccl); everything else is installed here. scripts/package
# builds the packages.
set(etc /etc)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(made ${CMAKE_BINARY_DIR}/packaging)

# Compressed as Debian wants it, and the same bytes each time.
function(sentinel_compressed source target)
  add_custom_command(OUTPUT ${target} COMMAND sh -c "gzip -9 -n -c '${source}' > '${target}'" DEPENDS ${source} VERBATIM)
endfunction()

file(MAKE_DIRECTORY ${made})
sentinel_compressed(${packaging}/debian/changelog ${made}/changelog.Debian.gz)
set(compressed ${made}/changelog.Debian.gz)

# Man pages and completions of the programs a package brings, as far as there are any.
function(sentinel_manuals component)
  foreach(name IN LISTS ARGN)
    file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/${name}.[1-8] ${CMAKE_SOURCE_DIR}/docs/man/${name}-*.[1-8])
    foreach(page IN LISTS pages)
      get_filename_component(file ${page} NAME)
      string(REGEX REPLACE ".*\\.([1-8])$" "\\1" section ${file})
      sentinel_compressed(${page} ${made}/${file}.gz)
      list(APPEND compressed ${made}/${file}.gz)
      install(FILES ${made}/${file}.gz DESTINATION share/man/man${section} COMPONENT ${component})
    endforeach()
  endforeach()
  set(compressed ${compressed} PARENT_SCOPE)
endfunction()

function(sentinel_daemon_files component)
  install(FILES ${packaging}/systemd/sentinel-${component}.service DESTINATION lib/systemd/system COMPONENT ${component})
  foreach(kind sysusers tmpfiles)
    install(FILES ${packaging}/systemd/gpu-sentinel.${kind} DESTINATION lib/${kind}.d RENAME gpu-sentinel-${component}.conf
      COMPONENT ${component})
  endforeach()
  install(FILES ${packaging}/${component}.toml DESTINATION ${etc}/gpu-sentinel COMPONENT ${component})
  # Maintainer scripts: the same for every daemon but for what is its own.
  string(TOUPPER ${component} upper)
  set(SERVICE sentinel-${component})
  set(PACKAGE gpu-sentinel-${component})
  set(OWN_STATE ${SENTINEL_STATE_${upper}})
  set(scripts)
  foreach(script postinst prerm postrm)
    configure_file(${packaging}/debian/${script}.in ${made}/${component}/${script} @ONLY)
    list(APPEND scripts ${made}/${component}/${script})
  endforeach()
  file(WRITE ${made}/${component}/conffiles "${etc}/gpu-sentinel/${component}.toml\n")
  list(APPEND scripts ${made}/${component}/conffiles)
  file(CHMOD ${made}/${component}/postinst ${made}/${component}/prerm ${made}/${component}/postrm
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${scripts}" PARENT_SCOPE)
endfunction()

# What a purge takes away of what is kept in /var/lib/gpu-sentinel.
set(SENTINEL_STATE_AGENT "agent-spool learned*")
set(SENTINEL_STATE_GATEWAY "sentinel.db* lock")
set(SENTINEL_STATE_TERMINAL "speech")

set(components agent gateway terminal tools)
foreach(component agent gateway terminal)
  sentinel_daemon_files(${component})
  sentinel_manuals(${component} sentinel-${component} ${component}.toml)
endforeach()
sentinel_manuals(tools sentinelctl sentinel-ring)
foreach(component IN LISTS components)
  install(FILES ${made}/changelog.Debian.gz DESTINATION share/doc/gpu-sentinel-${component} COMPONENT ${component})
  install(FILES ${packaging}/debian/copyright DESTINATION share/doc/gpu-sentinel-${component} COMPONENT ${component})
  set(PACKAGE gpu-sentinel-${component})
  configure_file(${packaging}/debian/lintian-overrides.in ${made}/${component}/lintian-overrides @ONLY)
  install(FILES ${made}/${component}/lintian-overrides DESTINATION share/lintian/overrides RENAME ${PACKAGE} COMPONENT ${component})
endforeach()
install(DIRECTORY DESTINATION ${etc}/gpu-sentinel/keys COMPONENT gateway
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
install(DIRECTORY DESTINATION ${etc}/gpu-sentinel/keys COMPONENT terminal
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
install(DIRECTORY ${packaging}/prometheus ${packaging}/grafana DESTINATION share/gpu-sentinel COMPONENT gateway
  FILES_MATCHING PATTERN "*.yml" PATTERN "*.json")

# Completions, if there are any: <program>.bash, _<program> for zsh, <program>.fish.
foreach(program sentinelctl)
  foreach(shell_file "bash;${program}.bash;share/bash-completion/completions;${program}"
      "zsh;_${program};share/zsh/vendor-completions;_${program}" "fish;${program}.fish;share/fish/vendor_completions.d;${program}.fish")
    list(GET shell_file 1 file)
    list(GET shell_file 2 folder)
    list(GET shell_file 3 name)
    if(EXISTS ${packaging}/completions/${file})
      install(FILES ${packaging}/completions/${file} DESTINATION ${folder} RENAME ${name} COMPONENT tools)
    endif()
  endforeach()
endforeach()
add_custom_target(package_files ALL DEPENDS ${compressed})
add_custom_target(packaged DEPENDS package_files nccl-profiler-sentinel sentinel-agent sentinel-gateway sentinel-terminal sentinelctl sentinel-ring)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gpu-sentinel)
set(CPACK_PACKAGE_VENDOR "GPU Sentinel")
# Some of it lies outside the prefix, in /etc.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "GPU Sentinel <gpu-sentinel@localhost>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
foreach(component IN LISTS components)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME gpu-sentinel-${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION admin)
  set(CPACK_DEBIAN_${upper}_PACKAGE_PRIORITY optional)
endforeach()
set(starts_a_daemon "init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "${starts_a_daemon}, adduser")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_DEPENDS "${starts_a_daemon}, adduser, tzdata")
set(CPACK_DEBIAN_TERMINAL_PACKAGE_DEPENDS "${starts_a_daemon}, adduser, espeak-ng, tzdata")
set(CPACK_DEBIAN_TERMINAL_PACKAGE_RECOMMENDS "alsa-utils")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_RECOMMENDS "ca-certificates") # whom an https:// receiver is believed by
set(CPACK_DEBIAN_GATEWAY_PACKAGE_SUGGESTS "gpu-sentinel-terminal, gpu-sentinel-tools, prometheus")
set(CPACK_COMPONENT_AGENT_DESCRIPTION "watches GPU training jobs of a node for silent NCCL hangs
Brings the profiler plugin that NCCL loads into a training process and the
agent that reads what it notes. The agent tells the gateway within half a
second which ring stands still and why; it never stops or slows a job.")
set(CPACK_COMPONENT_GATEWAY_DESCRIPTION "finds the culprit of a silent NCCL hang and lights a lamp
Takes what agents and existing senders report, finds the rank, node, card or
link that holds a training job up, and drives the lamps and voices of a site
until each has answered. Nothing it has accepted is lost by a restart, a full
disk or a terminal that is away.")
set(CPACK_COMPONENT_TERMINAL_DESCRIPTION "lamp and voice on the data-centre floor for GPU Sentinel
Shows and speaks what a gateway signs, and takes the press of a button back to
it. Shows by itself that monitoring is blind when the gateway falls silent.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "command line and training stand-in of GPU Sentinel
sentinelctl asks a gateway and acts on it; sentinel-ring is a training job
that can be made to hang, to see what becomes of it.")
include(CPack)

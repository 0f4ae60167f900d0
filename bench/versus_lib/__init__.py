"""The parts of bench/versus: one speed table, servers side by side.

machine   what we run on: programs, packages, ports, limits, what else is running
peers     the servers: how each is installed, configured at its best, started and asked its version
measure   the instruments: CPU time and memory of a process tree, wrk, thousands of idle clients
cases     the loads, and how the servers take turns under each
targets   what rivulet has promised, judged from the results
table     results as text

Each module uses only those above it, except that targets and table only read what cases wrote.
"""

"""The parts of bench/versus: the speed tables, servers and clients side by side.

machine       what we run on: programs, packages, ports, limits, what else is running
processes     started, watched and ended; CPU time and memory of a process tree
peers         the servers: how each is installed, configured at its best, started, asked its version
clients       the clients: how each is told what to do, and how its report is read
measure       the instruments: a running server, and one run of a client against it
sessions      clients of whom half have a session, and whether their visits were counted
idle          thousands of idle clients, and the memory they cost a server
cases         the loads as data, and what comes of them
bench         who takes part, and how a server is started in the best of its variants
server_turns  how servers take turns under one client
client_turns  how clients take turns at one server
targets       what rivulet has promised, judged from the results
table         results as text

Each module uses only those above it, except that targets and table only read what comes of cases.
"""

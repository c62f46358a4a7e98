#!/usr/bin/env bash
# A small Slurm on this machine, to test with: a controller and the nodes n1 and n2
# with two stand-ins for GPUs each. All of it is in a folder: its configuration, its
# ports, its state. A real Slurm of the machine is not touched, and no root is needed.
#   slurm.sh start DIR      then set SLURM_CONF=DIR/slurm.conf for Slurm's commands
#   slurm.sh kill DIR n2    ends a node and what runs on it, as a loss of power does
#   slurm.sh stop DIR
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
PATH=$PATH:/usr/sbin:/sbin

command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
node=${3:-}
export SLURM_CONF=$dir/slurm.conf

configure() {
    local host user ports spool
    host=$(hostname -s)
    user=$(id -un)
    ports=$(python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))')
    # shellcheck disable=SC2086
    set -- $ports
    rm -rf "$dir/state"
    # a socket's path has at most 107 characters
    spool=$(mktemp -d)
    mkdir -p "$dir/state" "$spool/n1" "$spool/n2"
    ln -sf /dev/null "$dir/gpu0"
    ln -sf /dev/zero "$dir/gpu1"
    ln -sf /dev/full "$dir/gpu2"
    ln -sf /dev/random "$dir/gpu3"
    cat > "$SLURM_CONF" << END
ClusterName=farmtest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
MailProg=/bin/true
StateSaveLocation=$dir/state
SlurmdSpoolDir=$spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=10000
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
MinJobAge=5
SlurmctldTimeout=10
SlurmdTimeout=15
MpiDefault=none
GresTypes=gpu
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$2,$3] CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
END
    cat > "$dir/gres.conf" << END
AutoDetect=off
NodeName=n1 Name=gpu File=$dir/gpu[0-1]
NodeName=n2 Name=gpu File=$dir/gpu[2-3]
END
}

# The processes of a node: what has its name and this configuration, and the keepers
# of its jobs, which show no environment.
processes() { # node
    local folder pid parent
    for folder in /proc/[0-9]*; do
        pid=${folder#/proc/}
        { tr '\0' '\n' < "$folder/environ"; } 2> /dev/null |
            awk -v conf="SLURM_CONF=$SLURM_CONF" -v node="SLURMD_NODENAME=$1" '
                $0 == conf { here = 1 } $0 == node { there = 1 } END { exit !(here && there) }' || continue
        parent=$(awk '$1 == "PPid:" { print $2 }' "$folder/status" 2> /dev/null) || continue
        [ "$(cat "/proc/$parent/comm" 2> /dev/null)" != slurmstepd ] || echo "$parent"
        echo "$pid"
    done
}

end_node() { # node
    local pid
    # the keepers first: they would tell the controller
    for pid in $(processes "$1" | awk '!seen[$0]++'); do
        kill -9 "$pid" 2> /dev/null || true
    done
}

start() {
    local tries=100
    configure
    { slurmctld && SLURMD_NODENAME=n1 slurmd -N n1 && SLURMD_NODENAME=n2 slurmd -N n2; } || tries=0
    while [ "$(sinfo -h -o '%D %T' 2> /dev/null)" != "2 idle" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { tail -n 20 "$dir"/*.log >&2; stop; return 1; }
        sleep 0.1
    done
}

stop() {
    local pid tries=50
    end_node n1
    end_node n2
    rm -rf "$(sed -n 's,^SlurmdSpoolDir=\(.*\)/%n$,\1,p' "$SLURM_CONF")"
    pid=$(cat "$dir/slurmctld.pid" 2> /dev/null) || return 0
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = slurmctld ] || return 0
    kill "$pid"
    while kill -0 "$pid" 2> /dev/null && [ $tries -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
    # it waits for nodes that are gone
    kill -9 "$pid" 2> /dev/null || true
}

case $command in
start) start ;;
kill)  end_node "$node" ;;
stop)  stop ;;
esac

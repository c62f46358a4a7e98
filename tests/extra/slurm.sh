#!/usr/bin/env bash
# quality-farm as an array of Slurm: slurm.sh FFMPEG. Debian's packages of Slurm are unpacked in a
# folder of their own, and their daemons run from there as long as the test does: nothing is installed.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
set -eu

farm=$(readlink -f "$(dirname "$0")/../../tools/quality-farm")
ffmpeg=$(readlink -f "$1")
host=$(hostname -s)
library=$tmp/usr/lib/x86_64-linux-gnu
daemons=()
trap 'kill "${daemons[@]}" 2> /dev/null || true; wait; rm -rf "$tmp"' EXIT
cd "$tmp"

[ "$(id -u)" = 0 ] || { skip slurm "not root, as whom slurmd runs"; exit; }
apt-get -q -o APT::Sandbox::User=root download slurmctld slurmd slurm-client munge libmunge2 \
    slurm-wlm-basic-plugins libhwloc15 libnuma1 liblua5.1-0 > log 2>&1 ||
    { skip slurm "its packages cannot be had"; exit; }
for package in *.deb; do
    dpkg -x "$package" .
done
mkdir state node
dd if=/dev/urandom of=key bs=1k count=1 2> /dev/null
chmod 400 key
cat > slurm.conf << END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$tmp/socket
PluginDir=$library/slurm-wlm
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/node
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
MaxArraySize=5
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=16818 CPUs=2 RealMemory=500
PartitionName=all Nodes=n1 Default=YES
END
export SLURM_CONF=$tmp/slurm.conf PATH=$tmp/usr/bin:$PATH
export LD_LIBRARY_PATH=$library:$library/slurm-wlm

daemon() { # command...
    "$@" >> daemons.log 2>&1 &
    daemons+=($!)
}
daemon usr/sbin/munged --foreground --socket="$tmp/socket" --key-file="$tmp/key" \
    --pid-file="$tmp/pid" --log-file="$tmp/daemons.log" --seed-file="$tmp/seed" --force
daemon usr/sbin/slurmctld-wlm -D
daemon usr/sbin/slurmd-wlm -D -N n1 -d "$tmp/usr/sbin/slurmstepd-wlm"
for _ in {1..300}; do
    [ "$(sinfo -h -o %T 2> /dev/null)" != idle ] || break
    sleep 0.2
done

scores() {
    local name status=0
    mkdir "$tmp/a folder"
    for name in a "b c" -d; do
        "$ffmpeg" -v error -f lavfi -i testsrc2=s=64x48:d=0.4 -c:v mjpeg "./$name.avi" || return
    done
    cp a.avi broken.avi
    printf '#!/bin/sh\ncase "$*" in *broken.avi*-vf*) exit 1;; esac\nexec %q "$@"\n' "$ffmpeg" > failing
    chmod +x failing
    timeout 120 "$farm" --ffmpeg ./failing -o "$tmp/a folder/it's" --slurm -- a.avi "b c.avi" -d.avi broken.avi 2> err ||
        status=$?
    cat "$tmp/a folder/it's/summary.csv" err
    [ $status = 2 ] || { cat daemons.log "$tmp/a folder/it's/slurm.log"; return 1; }
    [ "$(grep -c "avi,,ok,10," "$tmp/a folder/it's/summary.csv")" = 3 ] &&
        grep -q 'broken.avi failed: it ended with code 1' err
}
check "slurm: quality-farm scores three files as an array, and reports a failed task" scores

# An array of more tasks than the cluster allows is refused.
refused() {
    seq 5 | sed 's/.*/a.avi -ss 0.& -t 0.1/' > list
    timeout 120 "$farm" --ffmpeg "$ffmpeg" -o many --slurm --list list > /dev/null 2> err
    [ $? = 2 ] || return
    grep "refused an array of .* tasks.*MaxArraySize" err
}
check "slurm: an array that is too large is reported" refused

# An interruption cancels the array.
cancelled() {
    local pid
    printf '#!/bin/sh\ncase "$*" in *-vf*) sleep 60;; esac\nexec %q "$@"\n' "$ffmpeg" > slow
    chmod +x slow
    "$farm" --ffmpeg ./slow -o slow.d --slurm a.avi 2> err &
    pid=$!
    for _ in {1..150}; do
        [ "$(squeue -h -t running -o %T)" != RUNNING ] || break
        sleep 0.2
    done
    kill -TERM $pid
    wait $pid
    [ $? = 130 ] || { cat err; return 1; }
    for _ in {1..50}; do
        [ "$(squeue -h)" ] || return 0
        sleep 0.2
    done
    squeue
    return 1
}
check "slurm: an interruption cancels the array" cancelled
[ $failed = 0 ]

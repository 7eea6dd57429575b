/**
 * The leash: a POSIX shell script that starts a watcher and then becomes the program (`exec`), so that the program is
 * the engine's own child and its exit code or signal comes through unchanged. The watcher stays behind in the
 * program's session, as a child of nobody, and reads what the engine writes to fd 3. An end of file (the engine is
 * dead) or a silence (it is frozen) and it ends the program with everything below it. It runs under dash, bash,
 * busybox, mksh, yash and zsh as `sh` alike.
 *
 * The program begins only when the record names it and the engine, asked after that, is alive to say `go`. So whoever
 * takes over from a dead engine finds every program in the record, and none begins behind his back.
 *
 * Arguments: seconds of silence (0 = any) · the process record · a path for two pipes, or nothing · the program.
 * To fd 4 it writes `ready`, with `pipes` behind it when the program prints to the pipes; after the `go` the watcher's
 * pid; later perhaps `silent`: the engine was, and the program is ended for it.
 */
export const leashScript = shellText(`
unset RALPH_LEASH
silence=$1 record=$2 pipes=$3
shift 3

# table: words "pid,ppid,session,start" of all living processes. Like process-table.ts, by the same rules.
# moving: pids of those that do not stand still.
list() {
  table= moving=" "
  if [ -e /proc/self/stat ]; then
    for file in /proc/[0-9]*/stat; do
      read -r line <"$file" || continue
      pid=@{line%% *}
      set -- @{line##*") "}
      case $1 in
        Z | X) continue ;;
        T | t) ;;
        *) moving="$moving$pid " ;;
      esac
      table="$table $pid,$2,$4,@{20}"
    done
  else
    for row in $(LC_ALL=C TZ=UTC ps -A -o stat=,pid=,ppid=,pgid=,lstart= | tr -s ' ' ,); do
      row=@{row#,}
      state=$row row=@{row#*,}
      case $state in
        Z*) continue ;;
        T*) ;;
        *) moving="$moving@{row%%,*} " ;;
      esac
      table="$table @{row%,}"
    done
  fi
}

split() {
  pid=@{1%%,*} rest=@{1#*,}
  ppid=@{rest%%,*} rest=@{rest#*,}
  family=@{rest%%,*} start=@{rest#*,}
}

# alive: pids of the program and all its kin, the leash left out. Like kin.ts, by the same rules.
look() {
  list
  boss= helpers=" $me "
  for word in $table $table; do
    split "$word"
    [ "$pid" != "$me" ] || boss=$ppid
    case $helpers in *" $ppid "*) helpers="$helpers$pid " ;; esac
  done
  alive= kin=" $$ " grown=1
  while [ -n "$grown" ]; do
    grown=
    for word in $table; do
      split "$word"
      case "$helpers$boss $alive " in *" $pid "*) continue ;; esac
      case $kin in
        *" $ppid "* | *" $family "*) ;;
        *) case $known in *" $pid,$start "*) ;; *) continue ;; esac ;;
      esac
      alive="$alive $pid" kin="$kin$pid $family " known="$known$pid,$start " grown=1
    done
  done
  [ -n "$alive" ]
}

nap() { sleep 0.1 || sleep 1; }

# Brings all to a halt: who stands still neither bears children nor leaves. Two looks that show the same and nobody
# moving have seen all; one is not enough, for a child may be born between the names and the states it reads. Some never
# stand still (they hang in the kernel): so it does not go on for ever.
halt() {
  calm= looks=0
  while look && [ "$looks" -lt 20 ]; do
    still=$alive
    for pid in $alive; do
      case $moving in *" $pid "*) still= ;; esac
    done
    [ -z "$still" ] || [ "$still" != "$calm" ] || return
    kill -s STOP -- $alive
    calm=$still looks=$((looks + 1))
  done
}

# TERM, a short grace, KILL; last the own group, and the leash with it.
finish() {
  me=$(exec sh -c 'echo "$PPID"')
  known=" "
  while read -r pid start; do known="$known$pid,$start "; done <"$record"
  halt
  kill -s TERM -- $alive
  kill -s CONT -- $alive
  rounds=0
  while look && [ "$rounds" -lt 10 ]; do
    nap
    rounds=$((rounds + 1))
  done
  while look && [ "$rounds" -lt 40 ]; do
    halt
    kill -s KILL -- $alive
    nap
    rounds=$((rounds + 1))
  done
  [ -z "$pipes" ] || rm -f "$pipes.out" "$pipes.err"
  kill -s KILL -- "-$$"
}

# A sleep that is begun anew at each beat: if it ever ends by itself, the engine is frozen. It is told before anybody is
# ended, so that it knows it before it knows of any exit.
clock() {
  trap : USR1
  while :; do
    sleep "$silence" &
    wait "$!"
    case $? in
      0)
        echo silent >&4
        finish
        ;;
      126 | 127) exit ;;
    esac
    kill -s KILL "$!"
  done
}

watch() {
  # By exec: a redirection of the call would keep copies, and the program's pipes would never end.
  exec </dev/null >/dev/null 2>&1
  PATH=/usr/bin:/bin:$PATH
  clock=
  if [ "$silence" != 0 ]; then
    clock &
    clock=$!
  fi
  while read -r word <&3; do
    [ "$word" != done ] || kill -s KILL -- "-$$"
    [ -z "$clock" ] || kill -s USR1 "$clock"
  done
  finish
}

# Adds one process to the record, by pid and start.
sign() {
  if [ -e /proc/self/stat ]; then
    read -r line <"/proc/$1/stat"
    set -- "$1" "$2" @{line##*") "}
    echo "$2$1 @{22}" >>"$record"
  else
    set -- "$1" "$2" $(LC_ALL=C TZ=UTC ps -o lstart= -p "$1")
    echo "$2$1 $3,$4,$5,$6,$7" >>"$record"
  fi
}

how=
if [ -n "$pipes" ] && PATH=/usr/bin:/bin:$PATH mkfifo -m 600 "$pipes.out" "$pipes.err" 2>/dev/null; then
  # First for both, so that no opening waits for the other end.
  exec 5<>"$pipes.out" 6<>"$pipes.err" >"$pipes.out" 2>"$pipes.err"
  # The watcher keeps the reading ends: nothing is lost before the engine reads, and when the engine dies the program
  # does not break off at its next word, scattering its children before the watcher has seen them.
  exec 5<"$pipes.out" 6<"$pipes.err"
  how=pipes
else
  pipes=
fi
sign $$ 2>/dev/null
echo "ready $how" >&4
read -r word <&3 && [ "$word" = go ] || exit 1
(
  # Before the watcher and the program begin, so that no signal to the whole group ever ends the watcher.
  trap '' HUP INT QUIT TERM PIPE ALRM USR1 USR2
  watch &
  watcher=$!
  sign "$watcher" 'leash ' 2>/dev/null
  echo "$watcher" >&4
)
exec "$@" 3>&- 4>&- 5>&- 6>&-
`)

/** How the script comes to the shell. The program does not see it. */
export const leashVariable = 'RALPH_LEASH'

/**
 * `@{` stands for the shell's `${`, which TypeScript would take for its own. Comments are for readers: the shell starts
 * quicker without them, and lists of processes stay shorter.
 */
function shellText(script: string): string {
  return script
    .replace(/^\s*#.*\n/gm, '')
    .replace(/^\s+/gm, '')
    .replaceAll('@{', '${')
}

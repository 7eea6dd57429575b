/**
 * The first program in a box. It listens where the proxy and the ports of this machine are to be found in there, leaves
 * a process behind that leads each connection out by a socket file, and then becomes the program. Nobody runs before
 * everything listens. Each box has a network of its own, so programs side by side never want the same port.
 *
 * Arguments: the folder of the sockets (`<port>.sock`) · the ports, with commas · the program.
 *
 * In Perl, because it starts in 2 ms, a fortieth of Node, and is there wherever git is. No modules: they would cost
 * another 10 ms, so the numbers that Linux gives to families, options and addresses stand here as they are.
 */
export const perlLauncher = `
my ($folder, $ports, @program) = @ARGV;
my @doors;
for my $port (split /,/, $ports) {
  my ($four, $six, $one) = (undef, undef, pack('i', 1));
  socket($four, 2, 1, 0) && setsockopt($four, 1, 2, $one)
    && bind($four, pack('S n a4 x8', 2, $port, pack('C4', 127, 0, 0, 1))) && listen($four, 128)
    or die "ralph: cannot listen on port $port in the sandbox: $!\\n";
  push @doors, [$four, $port];
  # Where there is no IPv6 nobody will ask for it.
  socket($six, 10, 1, 0) && setsockopt($six, 41, 26, $one) && setsockopt($six, 1, 2, $one)
    && bind($six, pack('S n N x15 C N', 10, $port, 0, 1, 0)) && listen($six, 128)
    and push @doors, [$six, $port];
}
if (@doors) {
  # By a process between, so that the program does not find a child that it never had.
  my $between = fork() // die "ralph: cannot start the sandbox: $!\\n";
  if (!$between) { fork() ? exit(0) : serve() }
  waitpid($between, 0);
}
# The signals that the box itself must survive are the program's to take.
$SIG{$_} = 'DEFAULT' for qw(TERM INT HUP);
delete $ENV{PERL_BADLANG};
exec { $program[0] } @program;
print STDERR "ralph: cannot start $program[0]: $!\\n";
exit($! == 2 ? 127 : 126);

sub serve {
  setpgrp(0, 0);
  open(STDIN, '<', '/dev/null'); open(STDOUT, '>', '/dev/null'); open(STDERR, '>', '/dev/null');
  chdir '/';
  $SIG{CHLD} = $SIG{PIPE} = 'IGNORE';
  my $all = '';
  vec($all, fileno($_->[0]), 1) = 1 for @doors;
  while (1) {
    select(my $ready = $all, undef, undef, undef) > 0 or next;
    for my $door (@doors) {
      next unless vec($ready, fileno($door->[0]), 1) && accept(my $inside, $door->[0]);
      my $pid = fork();
      next if !defined $pid || $pid;
      my $outside;
      socket($outside, 1, 1, 0) && connect($outside, pack('S a108', 1, "$folder/$door->[1].sock")) or exit;
      my $half = fork() // exit;
      $half ? copy($inside, $outside) : copy($outside, $inside);
    }
  }
}

# One direction each, so that no side waits for the other; the end of one is told, the other goes on.
sub copy {
  my ($from, $to) = @_;
  while (sysread($from, my $data, 65536)) {
    for (my $at = 0; $at < length $data; ) {
      my $written = syswrite($to, $data, length($data) - $at, $at);
      if (!defined $written) { shutdown($from, 2); shutdown($to, 2); exit }
      $at += $written;
    }
  }
  shutdown($to, 1);
  exit;
}
`

/** The same for machines without Perl. Node cannot become another program, so it stays and hands on how that ended. */
export const nodeLauncher = `
const { spawn } = require('node:child_process')
const net = require('node:net')
const { constants } = require('node:os')
const [folder, ports, program, ...args] = process.argv.slice(2)
const listen = (port, host) => new Promise((resolve, reject) => {
  const server = net.createServer({ allowHalfOpen: true }, inside => {
    const outside = net.connect({ path: folder + '/' + port + '.sock', allowHalfOpen: true })
    for (const [from, to] of [[inside, outside], [outside, inside]]) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy()).pipe(to)
    }
  })
  server.once('error', error => host === '::1' ? resolve() : reject(error))
  server.listen({ port, host, ipv6Only: host === '::1' }, resolve)
})
const start = () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  const child = spawn(program, args, { stdio: 'inherit' })
  child.on('error', error => {
    process.stderr.write('ralph: cannot start ' + program + ': ' + error.message + '\\n')
    process.exit(error.code === 'ENOENT' ? 127 : 126)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
Promise.all(ports.split(',').filter(Boolean).flatMap(port => [listen(Number(port), '127.0.0.1'), listen(Number(port), '::1')]))
  .then(start, error => {
    process.stderr.write('ralph: cannot listen in the sandbox: ' + error.message + '\\n')
    process.exit(1)
  })
`

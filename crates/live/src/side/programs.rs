//! Programs of the user's beside the users of the spec: a command in the namespace of side 0, its server in that of side 1.
//!
//! Each runs below a process of ours, `aqmlab-live within PROGRAM`, the first of a process namespace of its own: when that one
//! ends, however it ends, the kernel ends all that the program has started. It ends with the thread that started it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use aqmlab_units::Duration;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use serde::Deserialize;

use crate::error::{Context, Error};
use crate::machine::clock;
use crate::packet::addresses;

/// The programs that run beside the users.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Programs {
    /// The command, which starts with the measured window: the run ends with it.
    pub(crate) command: Vec<String>,
    /// The server of the program, which is up before the run starts.
    pub(crate) server: Option<Vec<String>>,
    /// The number of the open file that is their standard output.
    output: RawFd,
}

/// The same, ready to be started.
#[derive(Debug)]
pub(crate) struct UserPrograms {
    /// Program and arguments, by side.
    by_side: [Option<Vec<String>>; 2],
    output: File,
}

impl UserPrograms {
    /// Once: their standard output is taken.
    pub(crate) fn new(programs: &Programs) -> Result<UserPrograms, Error> {
        // SAFETY: who started this process left it this file for that, and nothing else here uses it.
        #[expect(unsafe_code, reason = "a number is all that can be handed over")]
        let inherited = unsafe { File::from_raw_fd(programs.output) };
        // One that no program inherits as it is.
        let output = inherited.try_clone().context(|| "the programs' standard output".to_owned())?;
        Ok(UserPrograms { by_side: [Some(programs.command.clone()), programs.server.clone()], output })
    }

    /// Start that of `side`, if there is one, in the namespaces of the calling thread, which starts no thread after that.
    pub(crate) fn start(&self, side: usize) -> Result<Option<Program>, Error> {
        self.by_side[side].as_deref().map(|arguments| Program::start(arguments, &self.output)).transpose()
    }
}

/// A program that runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    /// It has an end of a pipe as its standard input, and sees by it that this process is there.
    process: Child,
    /// Ports in its namespace at which somebody listened before it.
    ports: usize,
}

impl Program {
    fn start(arguments: &[String], output: &File) -> Result<Program, Error> {
        let name = arguments.first().cloned().unwrap_or_default();
        // Of those that this thread starts from now on.
        unshare(CloneFlags::CLONE_NEWPID).context(|| "a process namespace".to_owned())?;
        let ports = ports();
        let output = output.try_clone().context(|| "the programs' standard output".to_owned())?;
        let process = Command::new("/proc/self/exe")
            .arg(WITHIN)
            .args(arguments)
            .env("AQMLAB_CLIENT", addresses::program(0).to_string())
            .env("AQMLAB_SERVER", addresses::program(1).to_string())
            .stdin(Stdio::piped())
            .stdout(output)
            .spawn()
            .context(|| name.clone())?;
        Ok(Program { name, process, ports })
    }

    /// Waits at most 10 s until it listens on a port that was free before.
    pub(crate) fn wait_for_port(&mut self) -> Result<(), Error> {
        for _ in 0..1000 {
            if let Some(code) = self.exit_code()? {
                return Err(Error::Odd(format!("the server {} ended with exit code {code}", self.name)));
            }
            if ports() > self.ports {
                return Ok(());
            }
            clock::pause(Duration::from_millis(10));
        }
        Err(Error::Odd(format!("the server {} listens at no port after 10 s", self.name)))
    }

    /// Its exit code, if it has ended.
    pub(crate) fn exit_code(&mut self) -> Result<Option<u8>, Error> {
        let status = self.process.try_wait().context(|| self.name.clone())?;
        Ok(status.map(code_of))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The program of one side during the run.
#[derive(Debug)]
pub(super) struct RunningProgram {
    side: usize,
    program: Option<Program>,
    /// It is the command, and has yet to start.
    awaits_start: bool,
    pub(super) exit_code: Option<u8>,
}

impl RunningProgram {
    /// That of `side`, whose server, if it has one, runs already.
    pub(super) fn new(side: usize, server: Option<Program>) -> RunningProgram {
        RunningProgram { side, program: server, awaits_start: side == 0, exit_code: None }
    }

    /// Start what is to start once the measured window `has_begun`, and see what has ended. Was that the command, with which
    /// the run ends?
    pub(super) fn attend(&mut self, beside: Option<&UserPrograms>, has_begun: bool) -> Result<bool, Error> {
        if has_begun
            && std::mem::take(&mut self.awaits_start)
            && let Some(programs) = beside
        {
            self.program = programs.start(self.side)?;
        }
        match &mut self.program {
            Some(program) if self.exit_code.is_none() => {
                self.exit_code = program.exit_code()?;
                Ok(self.side == 0 && self.exit_code.is_some())
            }
            _ => Ok(false),
        }
    }
}

/// Returns the number of sockets that listen, or receive datagrams, in the namespace of the calling thread.
fn ports() -> usize {
    const LISTENS: &str = "0A";
    let mut ports = 0;
    for (file, only_listening) in [("tcp", true), ("tcp6", true), ("udp", false), ("udp6", false)] {
        // A kernel without IPv6 has no such file.
        let Ok(text) = fs::read_to_string(format!("/proc/thread-self/net/{file}")) else { continue };
        let states = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
        ports += states.filter(|&state| !only_listening || state == LISTENS).count();
    }
    ports
}

/// The word that makes this program the first process of a namespace for another.
pub(crate) const WITHIN: &str = "within";

/// Run a program as the first process of its namespace, and end as it does.
pub(crate) fn within(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match run_within(&arguments.next().unwrap_or_default(), arguments) {
        Ok(status) => code_of(status).into(),
        Err(error) => {
            // As shells have it.
            if error.kind() == ErrorKind::NotFound { 127 } else { 126 }.into()
        }
    }
}

fn run_within(program: &OsString, arguments: impl Iterator<Item = OsString>) -> io::Result<ExitStatus> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Was there still somebody to end with? Their end of our standard input says so.
    let input = io::stdin();
    let mut input = [PollFd::new(input.as_fd(), PollFlags::empty())];
    poll(&mut input, PollTimeout::ZERO)?;
    if input[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).status();
    #[expect(clippy::print_stderr, reason = "it is the program's standard error, and the user's mistake")]
    if let Err(error) = &started {
        eprintln!("aqmlab: {}: {error}", program.display());
    }
    started
}

/// As shells have it: the number of a signal and 128 where that ended it.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

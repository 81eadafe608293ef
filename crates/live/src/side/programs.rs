//! Programs that run at the same time as the users of the spec: a command on side 0, its server on side 1.
//!
//! Each program runs below `aqmlab-live within PROGRAM`, the first process of a process namespace: when this process ends, the
//! kernel ends all that the program has started. It ends with the thread that started it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
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
use crate::run::guest::TEMPORARY;

/// The request for programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Programs {
    /// The command, which starts with the measurement window. The run ends with it.
    pub(crate) command: Vec<String>,
    /// The server, which listens before the run starts.
    pub(crate) server: Option<Vec<String>>,
    /// The file descriptor of their standard output, outside a guest.
    output: Option<RawFd>,
    /// Their working directory and the directories of programs, in a guest, whose first process has neither.
    pub(crate) place: Option<Place>,
}

/// The place of a guest's programs, which is that of the process that started the guest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) path: String,
}

/// Programs that are ready to start.
#[derive(Debug)]
pub(crate) struct UserPrograms {
    /// Program and arguments, by side.
    by_side: [Option<Vec<String>>; 2],
    output: File,
    place: Option<Place>,
}

impl UserPrograms {
    /// Takes ownership of the standard output in `programs`: call it only once. In a guest, `guest_output` is the output.
    pub(crate) fn new(programs: &Programs, guest_output: Option<File>) -> Result<UserPrograms, Error> {
        let output = match (programs.output, guest_output) {
            (_, Some(output)) => output,
            (Some(output), None) => {
                // SAFETY: the parent process opened this file for the programs, and nothing else in this process uses it.
                #[expect(unsafe_code, reason = "a number is all that can be handed over")]
                let inherited = unsafe { File::from_raw_fd(output) };
                // The clone is closed in child processes, unless it becomes their standard output.
                inherited.try_clone().context(|| "the programs' standard output".to_owned())?
            }
            (None, None) => {
                return Err(Error::Refused("programs.output: must be a file, got none".to_owned()));
            }
        };
        Ok(UserPrograms {
            by_side: [Some(programs.command.clone()), programs.server.clone()],
            output,
            place: programs.place.clone(),
        })
    }

    /// Starts the program of `side`, if there is one, in the namespaces of the calling thread. The thread must start no thread
    /// afterwards.
    pub(crate) fn start(&self, side: usize) -> Result<Option<Program>, Error> {
        self.by_side[side].as_deref().map(|arguments| Program::start(arguments, self)).transpose()
    }
}

/// A program that runs until it ends or this value is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    /// Its standard input is a pipe, by which it notices the end of this process.
    process: Child,
    /// The number of ports in its namespace that were in use before it started.
    ports: usize,
}

impl Program {
    fn start(arguments: &[String], programs: &UserPrograms) -> Result<Program, Error> {
        let name = arguments.first().cloned().unwrap_or_default();
        // The namespace is that of all processes that this thread starts from now on.
        unshare(CloneFlags::CLONE_NEWPID).context(|| "a process namespace".to_owned())?;
        let ports = ports();
        let output = || programs.output.try_clone().context(|| "the programs' standard output".to_owned());
        let mut command = Command::new("/proc/self/exe");
        if let Some(Place { directory, path }) = &programs.place {
            if !directory.is_dir() {
                let directory = directory.display();
                return Err(Error::Refused(format!(
                    "{name}: starts in {directory}, which a guest does not have"
                )));
            }
            // A guest's console has no reader.
            command.current_dir(directory).env("PATH", path).env("TMPDIR", TEMPORARY).stderr(output()?);
        }
        let process = command
            .arg(INIT_ARGUMENT)
            .args(arguments)
            .env("AQMLAB_CLIENT", addresses::program(0).to_string())
            .env("AQMLAB_SERVER", addresses::program(1).to_string())
            .stdin(Stdio::piped())
            .stdout(output()?)
            .spawn()
            .context(|| name.clone())?;
        Ok(Program { name, process, ports })
    }

    /// Waits, at most 10 s, until the program listens at a port that was free before.
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

    /// Returns the exit code, if the program has ended.
    pub(crate) fn exit_code(&mut self) -> Result<Option<u8>, Error> {
        let status = self.process.try_wait().context(|| self.name.clone())?;
        Ok(status.map(exit_code_of))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that it has ended already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The program of one side during the run.
#[derive(Debug)]
pub(super) struct RunningProgram {
    side: usize,
    program: Option<Program>,
    /// True for a command that has not started yet.
    awaits_start: bool,
    pub(super) exit_code: Option<u8>,
}

impl RunningProgram {
    /// Returns the program of `side`. Its server, if it has one, runs already.
    pub(super) fn new(side: usize, server: Option<Program>) -> RunningProgram {
        RunningProgram { side, program: server, awaits_start: side == 0, exit_code: None }
    }

    /// Starts the command once the measurement window `has_begun`, and checks for the end of the program. Returns true if the
    /// command has ended, and with it the run.
    pub(super) fn update(&mut self, programs: Option<&UserPrograms>, has_begun: bool) -> Result<bool, Error> {
        if has_begun
            && std::mem::take(&mut self.awaits_start)
            && let Some(programs) = programs
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

/// Returns the number of sockets that listen or receive datagrams in the namespace of the calling thread.
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

/// The argument that makes `aqmlab-live` the first process of a namespace for a program.
pub(crate) const INIT_ARGUMENT: &str = "within";

/// Runs a program below this process, and exits with its exit code.
pub(crate) fn run_as_init(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match run_below(&arguments.next().unwrap_or_default(), arguments) {
        Ok(status) => exit_code_of(status).into(),
        Err(error) => {
            // The exit codes of shells.
            if error.kind() == ErrorKind::NotFound { 127 } else { 126 }.into()
        }
    }
}

fn run_below(program: &OsString, arguments: impl Iterator<Item = OsString>) -> io::Result<ExitStatus> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have ended before the call above: then its end of the pipe at standard input is closed.
    let input = io::stdin();
    let mut input = [PollFd::new(input.as_fd(), PollFlags::empty())];
    poll(&mut input, PollTimeout::ZERO)?;
    if input[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status();
    #[expect(clippy::print_stderr, reason = "it is the program's standard error, and the user's mistake")]
    if let Err(error) = &status {
        eprintln!("aqmlab: {}: {error}", program.display());
    }
    status
}

/// Returns the exit code as shells do: 128 plus the signal's number if a signal ended the program.
fn exit_code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
